//! JSON without a marker: `{"name": …, "arguments": {…}}`, a list of them, `{"tool_calls": […]}`, or a text that is a whole
//! message of a chat API.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::{bare_json, message};

pub(super) const JSON_BARE: CallDialect = CallDialect { name: NAME, markers: &[OBJECT, LIST] };
pub(crate) const NAME: &str = "json_bare";

pub(super) const OBJECT: Marker =
    Marker::new("{", read).weak().before(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
pub(super) const LIST: Marker =
    Marker::new("[", read).weak().before(|byte| byte.is_ascii_whitespace() || byte == b'{');

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match message::read(cx, opening.start).await {
            ReadOutcome::No => bare_json::read(cx, opening, None, NAME).await,
            read => read,
        }
    })
}
