//! Seed-OSS: as Qwen3-Coder, in its own wrapper.

use super::qwen3_coder;
use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::invoke::{self, TagStyle};

pub(super) const SEED_OSS: CallDialect = CallDialect {
    name: "seed_oss",
    markers: &[Marker::new("<seed:tool_call>", read), Marker::new("<function=", qwen3_coder::read)],
};

const STYLE: TagStyle = TagStyle {
    format: "seed_oss",
    wraps: &["<seed:tool_call>"],
    closes: &["</seed:tool_call>"],
    ..qwen3_coder::STYLE
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
