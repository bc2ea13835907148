//! OLMo 3: `<function_calls>` with one Python call per line.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::functions;

pub(super) const OLMO3: CallDialect =
    CallDialect { name: "olmo3", markers: &[Marker::new("<function_calls>", read)] };

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(functions::marked(cx, opening, &["</function_calls>"], "olmo3"))
}
