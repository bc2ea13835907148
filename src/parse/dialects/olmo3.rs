//! OLMo 3: `<function_calls>` with a Python call a line.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::functions;

pub(super) const OLMO3: Dialect =
    Dialect { name: "olmo3", markers: &[Marker::new("<function_calls>", read)] };

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(functions::marked(cx, opening, &["</function_calls>"], "olmo3"))
}
