//! MiniCPM 5: `<function name="…"><param name="…">…</param></function>`, values as XML text or CDATA.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const MINICPM5: CallDialect =
    CallDialect { name: "minicpm5", markers: &[Marker::new("<function name=", read)] };

const STYLE: TagStyle = TagStyle {
    format: "minicpm5",
    call: "<function",
    call_end: "</function>",
    param: "<param",
    param_end: "</param>",
    xml: true,
    entities: true,
    ..PLAIN
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
