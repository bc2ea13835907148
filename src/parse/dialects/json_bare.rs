//! JSON that nothing marks: `{"name": …, "arguments": {…}}`, a list of them, or `{"tool_calls": […]}`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::bare;

pub(super) const JSON_BARE: Dialect =
    Dialect { name: "json_bare", markers: &[Marker::new("{", read).weak(), Marker::new("[", read).weak()] };

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(bare::read(cx, opening, "json_bare"))
}
