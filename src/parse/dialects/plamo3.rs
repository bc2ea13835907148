//! PLaMo 3: `<|plamo:begin_tool_request:plamo|>` around the name and the arguments, each between marks of its own. The arguments are
//! JSON, which two more marks may announce.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::common;
use crate::read::section::{self, Section, SectionHeader};
use crate::schemas::ToolSchemas;

pub(super) const PLAMO3: CallDialect = CallDialect {
    name: FORMAT,
    markers: &[
        Marker::new("<|plamo:begin_tool_requests:plamo|>", read),
        Marker::new("<|plamo:begin_tool_request:plamo|>", read),
        Marker::new("<|plamo:end_tool_requests:plamo|>", common::leftover),
        Marker::new("<|plamo:tag|>", common::leftover),
    ],
};

const FORMAT: &str = "plamo3";

const SECTION: Section = Section {
    format: FORMAT,
    opens: &["<|plamo:begin_tool_requests:plamo|>"],
    call: "<|plamo:begin_tool_request:plamo|>",
    separator: "<|plamo:begin_tool_arguments:plamo|>",
    announces: &["<|plamo:constrain|>json", "<|plamo:msg|>"],
    call_ends: &["<|plamo:end_tool_arguments:plamo|>", "<|plamo:end_tool_request:plamo|>"],
    closes: &["<|plamo:end_tool_requests:plamo|>"],
    header,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(section::read(cx, opening, &SECTION))
}

/// The name between its marks, of which one may be missing.
fn header(text: &str, _: &dyn ToolSchemas) -> SectionHeader {
    let name = text.trim();
    let name = name.strip_prefix("<|plamo:begin_tool_name:plamo|>").unwrap_or(name);
    let name = name.strip_suffix("<|plamo:end_tool_name:plamo|>").unwrap_or(name);
    SectionHeader::Name { name: name.trim().to_owned(), id: None, format: FORMAT }
}
