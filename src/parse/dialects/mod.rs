//! The dialects: a [table] of how each family of models writes its calls, and the readers of the few formats that are their own.

mod form;
mod functionary;
mod gemma;
mod glm;
mod harmony;
mod hermes;
mod inkling;
mod json;
mod kimi_k2;
mod mirothinker;
mod mistral;
mod react;
mod table;

use std::sync::OnceLock;

pub(super) use form::{Form, LinePlace, Reading};
pub(super) use json::DOCUMENT;
pub(super) use table::{ALL, JSON_BARE};

use super::author::TURN_MARKS;
use super::read::{arg_pairs, common, functions, invoke, json_body, section};
use super::reader::{Opening, ReadContext, ReadOutcome};
use super::reasoning::{ReasoningTag, TAGS};
use form::FormReader;

/// Reads what follows a mark of this form.
pub(super) fn read<'a>(cx: &'a ReadContext, opening: Opening, form: &'static Form) -> Reading<'a> {
    match &form.reader {
        FormReader::Json(block) => Box::pin(json_body::read(cx, opening, block)),
        FormReader::Tags(style) => Box::pin(invoke::read(cx, opening, style)),
        FormReader::LostTag(style) => Box::pin(invoke::by_parameter_tag(cx, opening, style)),
        FormReader::Section(style) => Box::pin(section::read(cx, opening, style, form.format())),
        FormReader::Pairs(style) => Box::pin(arg_pairs::block(cx, opening, style, form.format())),
        FormReader::Functions(closes) => Box::pin(functions::marked(cx, opening, closes, form.format())),
        FormReader::Gemma(quote, end) => Box::pin(gemma::read(cx, opening, form, quote, end)),
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

/// Reads the start of a text whose first mark stands in the prompt, in the order of the dialects that have such a reader.
pub(super) async fn read_start(cx: &ReadContext, dialect: usize, start: usize) -> ReadOutcome {
    match dialect {
        0 => functionary::first(cx, start).await,
        _ => harmony::first(cx, start).await,
    }
}

/// The dialects that [`read_start`] reads, and whether what it finds is as [weak](Form::is_weak) as a bare form.
pub(super) const STARTS: [(&[&str], bool); 2] = [(&["functionary_v32"], true), (&["harmony", "muse"], false)];

/// Forms that may occur in a text of any dialect.
pub(super) fn common_forms() -> impl Iterator<Item = &'static Form> {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    let turns = FORMS.get_or_init(|| {
        let turns = TURN_MARKS.iter().map(|mark| {
            let form = Form::new(&[], std::slice::from_ref(&mark.text), FormReader::Turn(mark));
            // A word is a mark only at the start of a line.
            if mark.text.as_bytes()[0].is_ascii_alphabetic() { form.at_line() } else { form }
        });
        turns.collect()
    });
    reasoning_forms().iter().chain(turns).chain(AROUND)
}

/// The tags of reasoning. An opening tag means more at the start of a line.
fn reasoning_forms() -> &'static [Form] {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let of_tag = |tag: &'static ReasoningTag| {
            let mention = Form::new(&[], tag.opens, FormReader::ReasoningMention(tag));
            let begin = if tag.is_soft {
                mention
            } else {
                Form::new(&[], tag.opens, FormReader::ReasoningStart(tag))
            };
            [begin.at_line(), mention, Form::new(&[], tag.closes, FormReader::ReasoningEnd(tag))]
        };
        TAGS.iter().flat_map(of_tag).collect()
    })
}

/// The forms with which JSON is found that is not a call: see [`json::document`].
pub(super) fn document_forms() -> impl Iterator<Item = &'static Form> {
    static BRACKETS: Form = Form::own(&[], &["{", "["], |cx, at| Box::pin(json::document(cx, at)));
    std::iter::once(&BRACKETS).chain(forms_of("harmony")).chain(reasoning_forms())
}

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
pub(super) static AROUND_TOOL_CALL: &[Form] = &[
    Form::own(&[], &["<tool_call>"], |cx, at| Box::pin(hermes::unreadable(cx, at))),
    Form::leftover(&[], &["</tool_call>"]),
];

/// The dialect of this name, or the one that a family of this name writes.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let name = table::SAME_AS.iter().find(|(family, _)| *family == name).map_or(name, |(_, format)| format);
    ALL.iter().flat_map(|form| form.dialects).find(|known| **known == name).copied()
}

/// The forms of a dialect.
pub(super) fn forms_of(dialect: &str) -> impl Iterator<Item = &'static Form> {
    ALL.iter().filter(move |form| form.dialects.contains(&dialect))
}

/// True for two dialects with a strong mark in common, or for one and the same.
pub(super) fn share_marker(one: &str, other: &str) -> bool {
    let strong = |name| forms_of(name).filter(|form| !form.is_weak).flat_map(|form| form.marks);
    one == other || strong(one).any(|mark| strong(other).any(|shared| shared == mark))
}

/// The names of all dialects.
pub fn names() -> Vec<&'static str> {
    all_names().to_vec()
}

/// The same, to look at.
pub(super) fn all_names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names: Vec<&str> = Vec::new();
        for name in ALL.iter().flat_map(|form| form.dialects) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        names
    })
}
