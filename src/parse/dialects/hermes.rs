//! Hermes, Qwen, and the house format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::draft::{Draft, Shape};
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const HERMES: Dialect = Dialect { name: "hermes", markers: &[Marker::new("<tool_call>", read)] };

const BODY: Body = Body {
    format: "hermes",
    opens: &["<tool_call>"],
    closes: &["</tool_call>"],
    stops: &["</tool_call>", "<tool_call>"],
    shape: Shape::Marked,
};

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}

/// A block that no dialect can read. In the middle of a line the tag is only mentioned.
pub(super) fn unreadable(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        if !cx.tape.begins_line(opening.start) {
            return Read::No;
        }
        let Some((to, 0)) = cx.tape.find(opening.after, BODY.stops).await else { return Read::No };
        if cx.tape.with(opening.after, to, |text| text.trim().is_empty()) {
            return Read::No;
        }
        let end = to + BODY.closes[0].len();
        cx.emit(
            vec![Draft::failed("", "The call cannot be read: there is no JSON object.")],
            end,
            BODY.format,
        );
        Read::Block(end)
    })
}
