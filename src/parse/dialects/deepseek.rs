//! DeepSeek V3 (name on a line, arguments in a fence) and V3.1 (name, separator, arguments).

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::section::{self, Header, Section};

const MARKERS: &[Marker] =
    &[Marker::new("<｜tool▁calls▁begin｜>", read), Marker::new("<｜tool▁call▁begin｜>", read)];

pub(super) const DEEPSEEK_V3: Dialect = Dialect { name: "deepseek_v3", markers: MARKERS };
pub(super) const DEEPSEEK_V31: Dialect = Dialect { name: "deepseek_v31", markers: MARKERS };

const SECTION: Section = Section {
    format: "deepseek_v31",
    opens: "<｜tool▁calls▁begin｜>",
    call: "<｜tool▁call▁begin｜>",
    separator: "<｜tool▁sep｜>",
    call_end: "<｜tool▁call▁end｜>",
    closes: "<｜tool▁calls▁end｜>",
    header,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(section::read(cx, opening, &SECTION))
}

fn header(text: &str) -> Header {
    match text.trim() {
        "function" => Header::NameFollows { format: "deepseek_v3" },
        name => Header::Name { name: name.to_owned(), id: None, format: "deepseek_v31" },
    }
}
