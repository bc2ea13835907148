//! What a row of the table declares: the marks that may begin a call, and the reader of what follows them.

use std::future::{Future, ready};
use std::pin::Pin;

use crate::author::TurnMark;
use crate::input::{Found, Opening, ReadContext};
use crate::json_calls::CallShape;
use crate::lenient::Notation;
use crate::read::arg_pairs::PairStyle;
use crate::read::common;
use crate::read::invoke::TagStyle;
use crate::read::json_body::JsonBlock;
use crate::read::section::Section;
use crate::reasoning::ReasoningTag;

/// One way to write calls, and the marks that may begin it.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// Those that have it; none for what stands around calls. The first one is the format of its calls.
    pub dialects: &'static [&'static str],
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

/// A reader at work. It is large, so it is a future of its own, and only there while it reads.
pub(crate) type Reading<'a> = Pin<Box<dyn Future<Output = Option<Found>> + Send + 'a>>;

/// A reader that needs only the place of its mark.
type OwnReader = for<'a> fn(&'a ReadContext, Opening) -> Reading<'a>;

/// The readers. Those with a value are shared: it says how a dialect spells what they read.
#[derive(Clone, Copy)]
pub(crate) enum FormReader {
    Json(JsonBlock),
    Tags(TagStyle),
    /// A parameter in place of the tag of its call.
    LostTag(TagStyle),
    Section(Section),
    Pairs(PairStyle),
    /// Calls in Python notation, up to one of these marks.
    Functions(&'static [&'static str]),
    /// Strings stand between the first of these tokens, and calls end with the second one.
    Gemma([&'static str; 2]),
    ReasoningStart(&'static ReasoningTag),
    ReasoningMention(&'static ReasoningTag),
    ReasoningEnd(&'static ReasoningTag),
    Turn(&'static TurnMark),
    Own(OwnReader),
}

type Names = &'static [&'static str];

impl Form {
    pub const fn new(dialects: Names, marks: Names, reader: FormReader) -> Self {
        Self { dialects, marks, place: LinePlace::Anywhere, is_weak: false, follows: |_| true, reader }
    }

    /// The format that its calls are reported with.
    pub fn format(&self) -> &'static str {
        self.dialects[0]
    }

    pub const fn at_line(self) -> Self {
        Self { place: LinePlace::Start, ..self }
    }

    pub const fn indented(self) -> Self {
        Self { place: LinePlace::Indented, ..self }
    }

    pub const fn own(dialects: Names, marks: Names, read: OwnReader) -> Self {
        Self::new(dialects, marks, FormReader::Own(read))
    }

    /// Weak marks, before a byte that fits.
    pub const fn bare(dialects: Names, marks: Names, follows: fn(u8) -> bool, read: OwnReader) -> Self {
        Self { is_weak: true, follows, ..Self::own(dialects, marks, read) }
    }

    pub const fn json(dialects: Names, block: JsonBlock) -> Self {
        Self::new(dialects, block.marks, FormReader::Json(JsonBlock { format: dialects[0], ..block }))
    }

    pub const fn tags(dialects: Names, marks: Names, style: TagStyle) -> Self {
        Self::new(dialects, marks, FormReader::Tags(TagStyle { format: dialects[0], ..style }))
    }

    pub const fn lost_tag(dialects: Names, marks: Names, style: TagStyle) -> Self {
        Self::new(dialects, marks, FormReader::LostTag(TagStyle { format: dialects[0], ..style }))
    }

    /// A token of a template: no part of the text, wherever it stands.
    pub const fn token(dialects: Names, marks: Names) -> Self {
        Self::own(dialects, marks, |_, at| Box::pin(ready(Some(Found::Block(at.after)))))
    }

    /// The same, unless it is quoted.
    pub const fn orphan(dialects: Names, marks: Names) -> Self {
        Self::own(dialects, marks, |cx, at| Box::pin(common::orphan(cx, at)))
    }

    /// Ends a turn: dropped once there was a call.
    pub const fn leftover(dialects: Names, marks: Names) -> Self {
        Self::own(dialects, marks, |cx, at| Box::pin(ready(common::leftover(cx, at))))
    }
}

/// JSON between these marks, which may be missing at its end.
pub(super) const fn between(marks: Names, closes: Names) -> JsonBlock {
    let (shape, notation) = (CallShape::Marked, Notation::Json);
    JsonBlock { format: "", marks, then: &[], closes, ends: &[], next: &[], shape, notation }
}
