//! DeepSeek V3.2, V4 and V4.1: elements in their own namespace; each parameter declares whether it is a string. V4.1 has a
//! space before each name. GigaChat 3.5 has another namespace.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::common;
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const DEEPSEEK_DSML: CallDialect = CallDialect { name: "deepseek_dsml", markers: MARKERS };
pub(super) const DEEPSEEK_DSML_V4: CallDialect = CallDialect { name: "deepseek_dsml_v4", markers: MARKERS };
pub(super) const DEEPSEEK_DSML_V41: CallDialect = CallDialect { name: "deepseek_dsml_v41", markers: MARKERS };

const MARKERS: &[Marker] = &[
    Marker::new("<｜DSML｜function_calls>", v32),
    Marker::new("<｜DSML｜tool_calls>", v4),
    Marker::new("<｜DSML｜invoke", v32),
    Marker::new("<｜DSML｜ calls>", v41),
    Marker::new("<｜DSML｜ tool_calls>", v41),
    Marker::new("<｜DSML｜ invoke", v41),
    // The token `｜DSML｜` in spellings that models use for it.
    Marker::new("<|DSML|", ascii_bars),
    Marker::new("<‖DSML‖", one_double_bar),
    Marker::new("<｜｜DSML｜｜", two_bars),
    Marker::new("</｜DSML｜parameter>", common::orphan),
    Marker::new("</｜DSML｜invoke>", common::orphan),
    Marker::new("</｜DSML｜function_calls>", common::orphan),
    Marker::new("</｜DSML｜tool_calls>", common::orphan),
    Marker::new("</｜DSML｜ parameter>", common::orphan),
    Marker::new("</｜DSML｜ invoke>", common::orphan),
    Marker::new("</｜DSML｜ calls>", common::orphan),
    Marker::new("</｜DSML｜ tool_calls>", common::orphan),
];

pub(super) const GIGACHAT35: CallDialect = CallDialect {
    name: "gigachat35",
    markers: &[
        Marker::new("<｜GCML｜tool_calls>", gcml),
        Marker::new("<｜GCML｜invoke", gcml),
        Marker::new("</｜GCML｜tool_calls>", common::leftover),
        Marker::new("<|message_sep|>", common::leftover),
    ],
};

/// The tags with another spelling of the token, and the function that reads them.
macro_rules! spelling {
    ($read:ident, $format:literal, $token:literal) => {
        fn $read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
            const STYLE: TagStyle = TagStyle {
                format: $format,
                wraps: &[concat!("<", $token, "tool_calls>"), concat!("<", $token, "function_calls>")],
                closes: &[concat!("</", $token, "tool_calls>"), concat!("</", $token, "function_calls>")],
                call: concat!("<", $token, "invoke"),
                call_end: concat!("</", $token, "invoke>"),
                param: concat!("<", $token, "parameter"),
                param_end: concat!("</", $token, "parameter>"),
                ..PLAIN
            };
            Box::pin(invoke::read(cx, opening, &STYLE))
        }
    };
}

spelling!(ascii_bars, "deepseek_dsml_v4", "|DSML|");
spelling!(one_double_bar, "deepseek_dsml_v4", "‖DSML‖");
spelling!(two_bars, "deepseek_dsml_v4", "｜｜DSML｜｜");
spelling!(gcml, "gigachat35", "｜GCML｜");

const V32: TagStyle = TagStyle {
    format: "deepseek_dsml",
    wraps: &["<｜DSML｜function_calls>"],
    // Models leave the opening tag out, so the other version's may follow.
    closes: &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
    call: "<｜DSML｜invoke",
    call_end: "</｜DSML｜invoke>",
    param: "<｜DSML｜parameter",
    param_end: "</｜DSML｜parameter>",
    sisters: &["<｜DSML｜ invoke"],
    ..PLAIN
};

const V4: TagStyle = TagStyle {
    format: "deepseek_dsml_v4",
    wraps: &["<｜DSML｜tool_calls>"],
    closes: &["</｜DSML｜tool_calls>"],
    ..V32
};

const V41: TagStyle = TagStyle {
    format: "deepseek_dsml_v41",
    wraps: &["<｜DSML｜ calls>", "<｜DSML｜ tool_calls>"],
    closes: &["</｜DSML｜ calls>", "</｜DSML｜ tool_calls>"],
    call: "<｜DSML｜ invoke",
    call_end: "</｜DSML｜ invoke>",
    param: "<｜DSML｜ parameter",
    param_end: "</｜DSML｜ parameter>",
    sisters: &["<｜DSML｜invoke"],
    ..PLAIN
};

fn v41(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &V41))
}

fn v32(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &V32))
}

fn v4(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &V4))
}
