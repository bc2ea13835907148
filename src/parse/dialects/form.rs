//! What a row of the table declares: the marks that may begin a call, and the reader of what follows them.

use crate::author::TurnMark;
use crate::json_calls::CallShape;
use crate::notation::Notation;
use crate::read::arg_pairs::PairStyle;
use crate::read::invoke::TagStyle;
use crate::read::json_body::JsonBlock;
use crate::read::section::Section;
use crate::reasoning_tags::ReasoningTag;

/// The format of one family of models.
pub(crate) struct CallDialect {
    pub name: &'static str,
    pub forms: &'static [&'static Form],
}

/// One way to write calls, and the marks that may begin it.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub marks: &'static [&'static str],
    /// Where on a line they count.
    pub place: LinePlace,
    /// Also common in plain text: they count only until a call with a strong marker was found.
    pub is_weak: bool,
    /// Whether a byte may follow. Short marks are frequent in text, and this check is cheaper than a reader.
    pub follows: fn(u8) -> bool,
    pub reader: FormReader,
}

/// Where on a line a mark counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinePlace {
    Anywhere,
    Start,
    /// After an indent or the mark of a list, but not at the start.
    Indented,
}

/// The readers. Those with a value are shared: it says how a dialect spells what they read.
#[derive(Clone, Copy)]
pub(crate) enum FormReader {
    Json(JsonBlock),
    Tags(TagStyle),
    Section(Section),
    Pairs(PairStyle),
    /// Calls in Python notation, in this format and up to one of these marks.
    Functions(&'static str, &'static [&'static str]),
    /// JSON without a marker, in this format.
    BareJson(&'static str),
    BareFunctions,
    FencedJson,
    Document,
    // Formats with a reader of their own.
    Functionary,
    Functools,
    /// In this format, with strings between the first token, and calls up to the second one.
    Gemma(&'static str, &'static str, &'static str),
    Glm,
    Harmony,
    HarmonyEnd,
    InklingCall,
    InklingHeader,
    InklingText,
    InklingThought,
    Mirothinker,
    MistralName,
    /// A parameter in place of the tag of its call.
    LostTag(TagStyle),
    React,
    UnreadableBlock,
    // What stands around calls.
    Code,
    Comment,
    Observation,
    ReasoningStart(&'static ReasoningTag),
    ReasoningMention(&'static ReasoningTag),
    ReasoningEnd(&'static ReasoningTag),
    Turn(&'static TurnMark),
    /// A token of a template: no part of the text, wherever it stands.
    Token,
    /// The same, unless it is quoted.
    Orphan,
    /// Ends a turn: dropped once there was a call.
    Leftover,
    /// The same for a tag whose suffix follows.
    LeftoverTag,
    /// The same, only at the very end of the text.
    LastLeftover,
}

impl Form {
    pub const fn new(marks: &'static [&'static str], reader: FormReader) -> Self {
        Self { marks, place: LinePlace::Anywhere, is_weak: false, follows: |_| true, reader }
    }

    /// Weak marks, before a byte that fits.
    pub const fn weak(marks: &'static [&'static str], follows: fn(u8) -> bool, reader: FormReader) -> Self {
        Self { is_weak: true, follows, ..Self::new(marks, reader) }
    }

    pub const fn at_line(self) -> Self {
        Self { place: LinePlace::Start, ..self }
    }

    pub const fn indented(self) -> Self {
        Self { place: LinePlace::Indented, ..self }
    }

    pub const fn json(block: JsonBlock) -> Self {
        Self::new(block.marks, FormReader::Json(block))
    }

    pub const fn section(marks: &'static [&'static str], section: Section) -> Self {
        Self::new(marks, FormReader::Section(section))
    }

    pub const fn tags(marks: &'static [&'static str], style: TagStyle) -> Self {
        Self::new(marks, FormReader::Tags(style))
    }

    pub const fn leftover(marks: &'static [&'static str]) -> Self {
        Self::new(marks, FormReader::Leftover)
    }
}

/// JSON between these marks, which may be missing at its end.
pub(super) const fn between(
    format: &'static str,
    marks: &'static [&'static str],
    closes: &'static [&'static str],
) -> JsonBlock {
    let (shape, notation) = (CallShape::Marked, Notation::Json);
    JsonBlock { format, marks, then: &[], closes, ends: &[], next: &[], shape, notation }
}
