//! Llama 3: `<|python_tag|>{"name": …, "parameters": {…}}; {…}`, without the tag, or `<function=name>{…}</function>`.

use super::{Dialect, Marker, Opening, Read, Reading, json_bare, qwen3_coder};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::functions;
use crate::parse::read::json_body::{self, Body};

pub(super) const LLAMA3_JSON: Dialect = Dialect {
    name: "llama3_json",
    markers: &[
        Marker::new("<|python_tag|>", read),
        Marker::new("<function=", qwen3_coder::read),
        json_bare::OBJECT,
        json_bare::LIST,
    ],
};

const BODY: Body = Body {
    format: "llama3_json",
    opens: &[],
    closes: &[],
    stops: &["<|python_tag|>", "<|eom_id|>", "<|eot_id|>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        match json_body::read(cx, opening, &BODY).await {
            // Built-in tools are called in Python: `brave_search.call(query="…")`.
            Read::No => functions::marked(cx, opening, &[], BODY.format).await,
            read => read,
        }
    })
}
