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

/// What ends a block that began in the middle of a line.
const IN_LINE: &[&str] = &["</tool_call>", "<tool_call>", "\n\n"];

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}

/// A block that no dialect can read. In the middle of a line the tags may only be mentioned: then they are quoted, or what is
/// between them is spaced like prose, has no words, or goes on over paragraphs.
pub(super) fn unreadable(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let begins_line = cx.tape.begins_line(opening.start);
        if !begins_line && (is_quoted(cx, opening) || cx.tape.byte(opening.after).await == Some(b' ')) {
            return Read::No;
        }
        let stops = if begins_line { BODY.stops } else { IN_LINE };
        let Some((to, 0)) = cx.tape.find(opening.after, stops).await else { return Read::No };
        if !cx.tape.with(opening.after, to, |text| match begins_line {
            true => !text.trim().is_empty(),
            false => text.contains(char::is_alphanumeric),
        }) {
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

/// A tag in quotes or parentheses is spoken about.
pub(super) fn is_quoted(cx: &Cx, opening: Opening) -> bool {
    cx.tape.byte_before(opening.start).is_some_and(|byte| b"`\"'(".contains(&byte))
}
