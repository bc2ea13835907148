//! Seed-OSS: as Qwen3-Coder, in its own wrapper.

use super::{Dialect, Marker, Opening, Reading, qwen3_coder};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, Style};

pub(super) const SEED_OSS: Dialect = Dialect {
    name: "seed_oss",
    markers: &[Marker::new("<seed:tool_call>", read), Marker::new("<function=", qwen3_coder::read)],
};

const STYLE: Style = Style {
    format: "seed_oss",
    wraps: &["<seed:tool_call>"],
    closes: &["</seed:tool_call>"],
    ..qwen3_coder::STYLE
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
