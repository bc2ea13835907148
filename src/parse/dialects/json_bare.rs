//! JSON that nothing marks: `{"name": …, "arguments": {…}}`, a list of them, or `{"tool_calls": […]}`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::bare;

pub(super) const JSON_BARE: Dialect = Dialect { name: "json_bare", markers: &[OBJECT, LIST] };

pub(super) const OBJECT: Marker =
    Marker::new("{", read).weak().before(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
pub(super) const LIST: Marker =
    Marker::new("[", read).weak().before(|byte| byte.is_ascii_whitespace() || byte == b'{');

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(bare::read(cx, opening, "json_bare"))
}
