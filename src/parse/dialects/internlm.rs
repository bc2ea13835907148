//! InternLM: `<|action_start|><|plugin|>{…}<|action_end|>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const INTERNLM: Dialect =
    Dialect { name: "internlm", markers: &[Marker::new("<|action_start|>", read)] };

const BODY: Body = Body {
    format: "internlm",
    opens: &["<|plugin|>"],
    closes: &["<|action_end|>"],
    stops: &["<|action_end|>", "<|action_start|>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
