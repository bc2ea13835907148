//! DeepSeek V3 (name on a line, arguments in a fence) and V3.1 (name, separator, arguments).

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::section::{self, Section, SectionHeader};
use crate::schemas::ToolSchemas;

const MARKERS: &[Marker] =
    &[Marker::new("<｜tool▁calls▁begin｜>", read), Marker::new("<｜tool▁call▁begin｜>", read)];

pub(super) const DEEPSEEK_V3: CallDialect = CallDialect { name: "deepseek_v3", markers: MARKERS };
pub(super) const DEEPSEEK_V31: CallDialect = CallDialect { name: "deepseek_v31", markers: MARKERS };

const SECTION: Section = Section {
    format: "deepseek_v31",
    opens: &["<｜tool▁calls▁begin｜>"],
    call: "<｜tool▁call▁begin｜>",
    separator: "<｜tool▁sep｜>",
    announces: &[],
    call_ends: &["<｜tool▁call▁end｜>"],
    closes: &["<｜tool▁calls▁end｜>"],
    header,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(section::read(cx, opening, &SECTION))
}

fn header(text: &str, _: &dyn ToolSchemas) -> SectionHeader {
    match text.trim() {
        "function" => SectionHeader::NameFollows { format: "deepseek_v3" },
        name => SectionHeader::Name { name: name.to_owned(), id: None, format: "deepseek_v31" },
    }
}
