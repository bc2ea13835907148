//! Kimi K3: `<|open|>call tool="name"<|sep|><|open|>argument key="k" type="string"<|sep|>…<|close|>argument<|sep|>`.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const KIMI_K3: CallDialect = CallDialect {
    name: "kimi_k3",
    markers: &[
        Marker::new("<|open|>tools<|sep|>", read),
        Marker::new("<|open|>call", read),
        Marker::new("<|open|>response<|sep|>", mark),
        Marker::new("<|close|>response<|sep|>", mark),
        Marker::new("<|close|>message<|sep|>", mark),
        Marker::new("<|end_of_msg|>", mark),
    ],
};

const STYLE: TagStyle = TagStyle {
    format: "kimi_k3",
    wraps: &["<|open|>tools<|sep|>"],
    closes: &["<|close|>tools<|sep|>"],
    call: "<|open|>call",
    call_end: "<|close|>call<|sep|>",
    param: "<|open|>argument",
    param_end: "<|close|>argument<|sep|>",
    tag_end: "<|sep|>",
    entities: true,
    ..PLAIN
};

/// The marks around the answer are no part of it.
fn mark(_: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move { ReadOutcome::Block(opening.after) })
}

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
