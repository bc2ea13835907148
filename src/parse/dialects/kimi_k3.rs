//! Kimi K3: `<|open|>call tool="name"<|sep|><|open|>argument key="k" type="string"<|sep|>…<|close|>argument<|sep|>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, PLAIN, Style};

pub(super) const KIMI_K3: Dialect = Dialect {
    name: "kimi_k3",
    markers: &[Marker::new("<|open|>tools<|sep|>", read), Marker::new("<|open|>call", read)],
};

const STYLE: Style = Style {
    format: "kimi_k3",
    wraps: &["<|open|>tools<|sep|>"],
    closes: &["<|close|>tools<|sep|>"],
    call: "<|open|>call",
    call_end: "<|close|>call<|sep|>",
    param: "<|open|>argument",
    param_end: "<|close|>argument<|sep|>",
    tag_end: "<|sep|>",
    ..PLAIN
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
