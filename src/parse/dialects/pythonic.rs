//! Llama 4 and others: `[get_weather(city="Paris"), now()]`, with or without `<|python_start|>` around it.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::functions;

pub(super) const PYTHONIC: CallDialect = CallDialect {
    name: "pythonic",
    markers: &[Marker::new("<|python_start|>", marked), Marker::new("[", bare).weak().before(begins_name)],
};

fn marked(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(functions::marked(cx, opening, &["<|python_end|>"], "pythonic"))
}

fn bare(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(functions::bare(cx, opening, "pythonic"))
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}
