//! Llama 4 and others: `[get_weather(city="Paris"), now()]`, with `<|python_start|>` around it or not.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::python;
use crate::parse::read::functions;

pub(super) const PYTHONIC: Dialect = Dialect {
    name: "pythonic",
    markers: &[
        Marker::new("<|python_start|>", marked),
        Marker::new("[", bare).weak().before(|byte| byte.is_ascii_whitespace() || python::names(byte)),
    ],
};

fn marked(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(functions::marked(cx, opening, &["<|python_end|>"], "pythonic"))
}

fn bare(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(functions::bare(cx, opening, "pythonic"))
}
