//! Kimi K2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.

use crate::parse::context::ReadContext;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::read::section::{self, Section, SectionHeader};

pub(super) const KIMI_K2: CallDialect = CallDialect {
    name: "kimi_k2",
    markers: &[Marker::new("<|tool_calls_section_begin|>", read), Marker::new("<|tool_call_begin|>", read)],
};

const SECTION: Section = Section {
    format: "kimi_k2",
    opens: "<|tool_calls_section_begin|>",
    call: "<|tool_call_begin|>",
    separator: "<|tool_call_argument_begin|>",
    call_end: "<|tool_call_end|>",
    closes: "<|tool_calls_section_end|>",
    header,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(section::read(cx, opening, &SECTION))
}

/// `functions.name:0` is the id of the call too.
fn header(text: &str) -> SectionHeader {
    let id = text.trim();
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = match name.rsplit_once(':') {
        Some((name, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    SectionHeader::Name { name: name.to_owned(), id: Some(id.to_owned()), format: "kimi_k2" }
}
