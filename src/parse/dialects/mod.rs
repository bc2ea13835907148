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

pub(super) use form::{CallDialect, Form, LinePlace};
pub(super) use json::DOCUMENT;
pub(super) use table::{ALL, JSON_BARE};

use super::author::TURN_MARKS;
use super::read::{arg_pairs, common, functions, invoke, json_body, section};
use super::reader::{Opening, ReadContext, ReadOutcome};
use super::reasoning_tags::{ReasoningTag, TAGS};
use form::FormReader;

/// Reads what follows a mark of this form.
pub(super) async fn read(cx: &ReadContext, opening: Opening, form: &Form) -> ReadOutcome {
    match &form.reader {
        FormReader::Json(block) => json_body::read(cx, opening, block).await,
        FormReader::Tags(style) => invoke::read(cx, opening, style).await,
        FormReader::Section(style) => section::read(cx, opening, style).await,
        FormReader::Pairs(style) => arg_pairs::block(cx, opening, style).await.into(),
        FormReader::Functions(format, closes) => functions::marked(cx, opening, closes, format).await,
        FormReader::BareJson(format) => json::bare(cx, opening, format).await,
        FormReader::BareFunctions => functions::bare(cx, opening, "pythonic").await,
        FormReader::FencedJson => json::fenced(cx, opening).await,
        FormReader::Document => json::document(cx, opening).await,
        FormReader::Functionary => functionary::read(cx, opening).await,
        FormReader::Functools => json::functools(cx, opening).await,
        FormReader::Gemma(format, quote, end) => {
            gemma::read(cx, opening, format, quote, end, form.marks).await
        }
        FormReader::Glm => glm::read(cx, opening).await,
        FormReader::Harmony => harmony::read(cx, opening).await,
        FormReader::HarmonyEnd => harmony::message_end(cx, opening).await,
        FormReader::InklingCall => inkling::read(cx, opening).await,
        FormReader::InklingHeader => inkling::header(cx, opening).await,
        FormReader::InklingText => inkling::said(cx, opening).await,
        FormReader::InklingThought => inkling::thought(cx, opening).await,
        FormReader::LostTag(style) => invoke::by_parameter_tag(cx, opening, style).await.into(),
        FormReader::Mirothinker => mirothinker::read(cx, opening).await,
        FormReader::MistralName => mistral::named(cx, opening).await,
        FormReader::React => react::read(cx, opening).await,
        FormReader::UnreadableBlock => hermes::unreadable(cx, opening).await,
        FormReader::Code => common::code(cx, opening).await,
        FormReader::Comment => common::comment(cx, opening).await,
        FormReader::Observation => common::observation(cx, opening).await,
        FormReader::ReasoningStart(tag) => common::reasoning_block(cx, opening, tag).await,
        FormReader::ReasoningMention(tag) => common::mid_line(cx, opening, tag).await,
        FormReader::ReasoningEnd(tag) => common::reasoning_end(cx, opening, tag).await,
        FormReader::Turn(mark) => common::turn(cx, opening, mark).await,
        FormReader::Token => ReadOutcome::Block(opening.after),
        FormReader::Orphan => common::orphan(cx, opening).await,
        FormReader::Leftover => common::leftover(cx, opening),
        FormReader::LeftoverTag => arg_pairs::leftover(cx, opening).await,
        FormReader::LastLeftover => common::last(cx, opening).await,
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
            let form = Form::new(std::slice::from_ref(&mark.text), FormReader::Turn(mark));
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
            let mention = Form::new(tag.opens, FormReader::ReasoningMention(tag));
            let begin =
                if tag.is_soft { mention } else { Form::new(tag.opens, FormReader::ReasoningStart(tag)) };
            [begin.at_line(), mention, Form::new(tag.closes, FormReader::ReasoningEnd(tag))]
        };
        TAGS.iter().flat_map(of_tag).collect()
    })
}

/// The forms with which JSON is found that is not a call: see [`json::document`].
pub(super) fn document_forms() -> impl Iterator<Item = &'static Form> {
    static BRACKETS: Form = Form::new(&["{", "["], FormReader::Document);
    std::iter::once(&BRACKETS).chain(table::HARMONY.iter().copied()).chain(reasoning_forms())
}

static AROUND: &[Form] = &[
    Form::new(&["```", "~~~"], FormReader::Code).at_line(),
    Form::new(&["```", "~~~"], FormReader::Code).indented(),
    Form::new(&["Observation:"], FormReader::Observation).at_line(),
    Form::new(&["<!--"], FormReader::Comment),
    Form::leftover(&[
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
    ]),
    // Also tags of HTML.
    Form::new(&["</s>", "</answer>"], FormReader::LastLeftover),
];

/// Forms for dialects with the tag `<tool_call>`: a block that none of them can read, and an end tag that is left over.
pub(super) static AROUND_TOOL_CALL: &[Form] =
    &[Form::new(&["<tool_call>"], FormReader::UnreadableBlock), Form::leftover(&["</tool_call>"])];

pub(super) fn named(name: &str) -> Option<&'static CallDialect> {
    let name = table::SAME_AS.iter().find(|(family, _)| *family == name).map_or(name, |(_, format)| format);
    ALL.iter().find(|dialect| dialect.name == name)
}

/// True for two dialects with a strong mark in common, or for one and the same.
pub(super) fn share_marker(one: &str, other: &str) -> bool {
    let strong = |name: &str| {
        let forms = named(name).map(|dialect| dialect.forms).unwrap_or_default();
        forms.iter().filter(|form| !form.is_weak).flat_map(|form| form.marks)
    };
    one == other || strong(one).any(|mark| strong(other).any(|shared| shared == mark))
}

/// The names of all dialects.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|dialect| dialect.name).collect()
}
