//! LongCat: `<longcat_tool_call>{…}</longcat_tool_call>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const LONGCAT: Dialect =
    Dialect { name: "longcat", markers: &[Marker::new("<longcat_tool_call>", read)] };

const BODY: Body = Body {
    format: "longcat",
    opens: &["<longcat_tool_call>"],
    closes: &["</longcat_tool_call>"],
    stops: &["</longcat_tool_call>", "<longcat_tool_call>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
