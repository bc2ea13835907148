//! The dialects: a [table] of how each family of models writes its calls, what a row of it declares, and the readers of the few
//! formats that are their own.

mod json;
mod messages;
mod named;
mod react;
mod table;

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::LazyLock;

pub(super) use json::DOCUMENT;

use super::author::{TURN_MARKS, TurnMark};
use super::input::{Found, Opening, ReadContext};
use super::json_calls::CallShape;
use super::lenient::Notation;
use super::read::arg_pairs::{self, PairStyle};
use super::read::invoke::{self, TagStyle};
use super::read::json_body::{self, JsonBlock};
use super::read::section::{self, SectionTokens};
use super::read::{common, python};
use super::reasoning::{ReasoningTag, TAGS};
use table::ALL;

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
    Section(SectionTokens),
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
        self.dialects.first().copied().unwrap_or_default()
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
        Self::new(dialects, block.marks, FormReader::Json(block))
    }

    pub const fn tags(dialects: Names, marks: Names, style: TagStyle) -> Self {
        Self::new(dialects, marks, FormReader::Tags(style))
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
    JsonBlock { marks, then: &[], closes, ends: &[], next: &[], shape, notation }
}

/// Reads what follows a mark of this form.
pub(super) fn read<'a>(cx: &'a ReadContext, opening: Opening, form: &'static Form) -> Reading<'a> {
    match &form.reader {
        FormReader::Json(block) => Box::pin(json_body::read(cx, opening, block)),
        FormReader::Tags(style) => Box::pin(invoke::read(cx, opening, style)),
        FormReader::Section(style) => Box::pin(section::read(cx, opening, style)),
        FormReader::Pairs(style) => Box::pin(arg_pairs::block(cx, opening, style)),
        FormReader::Functions(closes) => Box::pin(python::marked(cx, opening, closes)),
        FormReader::Gemma(tokens) => Box::pin(named::gemma(cx, opening, form.marks, *tokens)),
        FormReader::ReasoningStart(tag) => Box::pin(common::reasoning_block(cx, opening, tag)),
        FormReader::ReasoningMention(tag) => Box::pin(common::mid_line(cx, opening, tag)),
        FormReader::ReasoningEnd(tag) => Box::pin(common::reasoning_end(cx, opening, tag)),
        FormReader::Turn(mark) => Box::pin(common::turn(cx, opening, mark)),
        FormReader::Own(read) => read(cx, opening),
    }
}

/// Reads a call in the usual form, which needs no future.
pub(super) fn read_usual(cx: &ReadContext, opening: Opening, form: &Form) -> Option<usize> {
    match &form.reader {
        FormReader::Json(block) => json_body::usual(cx, opening, block),
        _ => None,
    }
}

/// The readers of the start of a text whose first mark stands in the prompt.
pub(super) static STARTS: &[Form] = &[
    Form::bare(&["functionary_v32"], &[], |_| true, |cx, at| Box::pin(named::functionary(cx, at))),
    Form::own(&["harmony", "muse"], &[], |cx, at| Box::pin(messages::first_of_harmony(cx, at.start))),
];

/// The forms of a text in this dialect, or in any. Those of [`DOCUMENT`] find JSON that is not a call: see [`json::document`].
pub(super) fn forms(asked: Option<&str>) -> Vec<&'static Form> {
    static BRACKETS: Form = Form::own(&[DOCUMENT], &["{", "["], |cx, at| Box::pin(json::document(cx, at)));
    let own: Vec<_> = match asked {
        Some(DOCUMENT) => {
            return [&BRACKETS].into_iter().chain(forms_of("harmony")).chain(&*REASONING).collect();
        }
        Some(dialect) => forms_of(dialect).collect(),
        None => ALL.iter().collect(),
    };
    // The marks of other families are text when a dialect is requested.
    let has_tag = own.iter().any(|form| form.marks.contains(&"<tool_call>"));
    let around = AROUND.iter().chain(AROUND_TOOL_CALL.iter().filter(|_| has_tag));
    own.into_iter().chain(&*REASONING).chain(&*TURNS).chain(around).collect()
}

/// The marks of turns, which any text may have.
static TURNS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let turns = TURN_MARKS.iter().map(|mark| {
        let form = Form::new(&[], std::slice::from_ref(&mark.text), FormReader::Turn(mark));
        // A word is a mark only at the start of a line.
        if mark.text.as_bytes()[0].is_ascii_alphabetic() { form.at_line() } else { form }
    });
    turns.collect()
});

/// The tags of reasoning. An opening tag means more at the start of a line.
static REASONING: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let of_tag = |tag: &'static ReasoningTag| {
        let mention = Form::new(&[], tag.opens, FormReader::ReasoningMention(tag));
        let start = Form::new(&[], tag.opens, FormReader::ReasoningStart(tag));
        let begin = if tag.is_soft { mention } else { start };
        [begin.at_line(), mention, Form::new(&[], tag.closes, FormReader::ReasoningEnd(tag))]
    };
    TAGS.iter().flat_map(of_tag).collect()
});

/// What may stand in a text of any dialect.
static AROUND: &[Form] = &[
    Form::own(&[], &["```", "~~~"], |cx, at| Box::pin(common::code(cx, at))).at_line(),
    Form::own(&[], &["```", "~~~"], |cx, at| Box::pin(common::code(cx, at))).indented(),
    Form::own(&[], &["Observation:"], |cx, at| Box::pin(common::observation(cx, at))).at_line(),
    Form::own(&[], &["<!--"], |cx, at| Box::pin(common::comment(cx, at))),
    Form::leftover(
        &[],
        &[
            "<|eom_id|>",
            "<|eot_id|>",
            "<|eot|>",
            "<|im_end|>",
            "<|end_of_text|>",
            "<|endoftext|>",
            "<|observation|>",
            "<|END_OF_TURN_TOKEN|>",
            "<｜end▁of▁sentence｜>",
            "<end_of_turn>",
            "<turn|>",
            "<start_function_response>",
            "<|tool_response>",
            "<|/tool_call|>",
        ],
    ),
    // Also tags of HTML.
    Form::own(&[], &["</s>", "</answer>"], |cx, at| Box::pin(common::last(cx, at))),
];

/// Forms for dialects with the tag `<tool_call>`: a block that none of them can read, and an end tag that is left over.
static AROUND_TOOL_CALL: &[Form] = &[
    Form::own(&["hermes"], &["<tool_call>"], |cx, at| Box::pin(json::unreadable(cx, at))),
    Form::leftover(&[], &["</tool_call>"]),
];

/// The dialect of this name, or the one that a family of this name writes.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let name = table::SAME_AS.iter().find(|(family, _)| *family == name).map_or(name, |(_, format)| format);
    ALL.iter().flat_map(|form| form.dialects).find(|known| **known == name).copied()
}

/// The forms of a dialect.
fn forms_of(dialect: &str) -> impl Iterator<Item = &'static Form> {
    ALL.iter().filter(move |form| form.dialects.contains(&dialect))
}

/// True for two dialects with a strong mark in common, or for one and the same.
pub(super) fn share_marker(one: &str, other: &str) -> bool {
    let strong = |name| forms_of(name).filter(|form| !form.is_weak).flat_map(|form| form.marks);
    one == other || strong(one).any(|mark| strong(other).any(|shared| shared == mark))
}

/// The names of all dialects.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for name in ALL.iter().flat_map(|form| form.dialects) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}
