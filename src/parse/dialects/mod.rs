//! The dialects: a [table] of how each family of models writes its calls, and the readers of the few formats that are their own.

mod form;
mod json;
mod messages;
mod named;
mod react;
mod table;

use std::sync::LazyLock;

pub(super) use form::{Form, LinePlace, Reading};
pub(super) use json::DOCUMENT;
pub(super) use table::JSON_BARE;

use super::author::TURN_MARKS;
use super::input::{Found, Opening, ReadContext};
use super::read::{arg_pairs, common, invoke, json_body, python, section};
use super::reasoning::{ReasoningTag, TAGS};
use form::FormReader;
use table::ALL;

/// Reads what follows a mark of this form.
pub(super) fn read<'a>(cx: &'a ReadContext, opening: Opening, form: &'static Form) -> Reading<'a> {
    match &form.reader {
        FormReader::Json(block) => Box::pin(json_body::read(cx, opening, block)),
        FormReader::Tags(style) => Box::pin(invoke::read(cx, opening, style)),
        FormReader::LostTag(style) => {
            Box::pin(async move { invoke::by_parameter_tag(cx, opening, style).await.map(Found::Block) })
        }
        FormReader::Section(style) => Box::pin(section::read(cx, opening, style, form.format())),
        FormReader::Pairs(style) => Box::pin(arg_pairs::block(cx, opening, style, form.format())),
        FormReader::Functions(closes) => {
            Box::pin(
                async move { python::marked(cx, opening, closes, form.format()).await.map(Found::Block) },
            )
        }
        FormReader::Gemma(tokens) => Box::pin(named::gemma(cx, opening, form, *tokens)),
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
    Form::bare(
        &["functionary_v32"],
        &[],
        |_| true,
        |cx, at| Box::pin(named::first_of_functionary(cx, at.start)),
    ),
    Form::own(&["harmony", "muse"], &[], |cx, at| Box::pin(messages::first_of_harmony(cx, at.start))),
];

/// The forms of a text in this dialect, or in any. Those of [`DOCUMENT`] find JSON that is not a call: see [`json::document`].
pub(super) fn forms(asked: Option<&str>) -> Vec<&'static Form> {
    static BRACKETS: Form = Form::own(&[], &["{", "["], |cx, at| Box::pin(json::document(cx, at)));
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
    Form::own(&[], &["<tool_call>"], |cx, at| Box::pin(json::unreadable(cx, at))),
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
