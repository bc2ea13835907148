//! LFM2: `<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>`.

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::functions;
use crate::parse::read::json_body::{self, Body};

pub(super) const LFM2: Dialect =
    Dialect { name: "lfm2", markers: &[Marker::new("<|tool_call_start|>", read)] };

const CLOSES: &[&str] = &["<|tool_call_end|>"];
/// Asked to, the model writes JSON instead.
const BODY: Body = Body { format: "lfm2", opens: &[], closes: CLOSES, stops: CLOSES, shape: Shape::Marked };

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        match functions::marked(cx, opening, CLOSES, "lfm2").await {
            Read::No => json_body::read(cx, opening, &BODY).await,
            read => read,
        }
    })
}
