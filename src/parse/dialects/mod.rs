//! The dialects: how each family of models writes its calls.

mod anthropic;
mod apertus;
mod cohere;
mod deepseek;
mod document;
mod dots;
mod dsml;
mod functionary;
mod gemma;
mod gigachat3;
mod glm;
mod granite;
mod harmony;
mod hermes;
mod hunyuan;
mod inkling;
mod internlm;
mod iquest_coder;
mod jamba;
mod json_bare;
mod json_fence;
mod k2_horizon;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama3;
mod longcat;
mod minicpm5;
mod minimax;
mod mirothinker;
mod mistral;
mod muse;
mod nemotron;
mod olmo3;
mod phi4;
mod plamo3;
mod pythonic;
mod qwen3_coder;
mod react;
mod sarashina;
mod seed_oss;
mod solar_open2;
mod step3;

use std::sync::OnceLock;

use super::marker::{CallDialect, Marker, ReadFn};
use super::read::common;
use super::reasoning_tags::{ReasoningTag, TAGS};
use super::responses::RESPONSES as ANSWERS;
use super::turn_marks::TURN_MARKS;

/// All dialects, the most specific first: where two share a marker, the first that can read what follows wins.
pub(super) const ALL: &[CallDialect] = &[
    hermes::HERMES,
    qwen3_coder::QWEN3_CODER,
    glm::GLM45,
    glm::GLM47,
    hunyuan::HUNYUAN,
    longcat::LONGCAT,
    seed_oss::SEED_OSS,
    anthropic::ANTHROPIC_XML,
    minimax::MINIMAX_M2,
    minimax::MINIMAX_M3,
    deepseek::DEEPSEEK_V3,
    deepseek::DEEPSEEK_V31,
    dsml::DEEPSEEK_DSML,
    dsml::DEEPSEEK_DSML_V4,
    dsml::DEEPSEEK_DSML_V41,
    kimi_k2::KIMI_K2,
    kimi_k3::KIMI_K3,
    harmony::HARMONY,
    muse::MUSE,
    mirothinker::MIROTHINKER,
    minicpm5::MINICPM5,
    dots::DOTS,
    inkling::INKLING,
    gigachat3::GIGACHAT3,
    dsml::GIGACHAT35,
    iquest_coder::IQUEST_CODER,
    k2_horizon::K2_HORIZON,
    plamo3::PLAMO3,
    solar_open2::SOLAR_OPEN2,
    mistral::MISTRAL_JSON,
    mistral::MISTRAL_ARGS,
    llama3::LLAMA3_JSON,
    cohere::COHERE,
    granite::GRANITE,
    granite::GRANITE_20B_FC,
    internlm::INTERNLM,
    jamba::JAMBA,
    nemotron::NEMOTRON,
    apertus::APERTUS,
    gemma::FUNCTIONGEMMA,
    gemma::GEMMA4,
    step3::STEP3,
    lfm2::LFM2,
    olmo3::OLMO3,
    functionary::FUNCTIONARY_V32,
    phi4::PHI4,
    sarashina::SARASHINA,
    json_fence::JSON_FENCE,
    json_bare::JSON_BARE,
    pythonic::PYTHONIC,
    react::REACT,
];

/// Readers of a text whose first mark stands in the prompt, by the names of their dialects. They get the start of the text.
pub(super) const FIRST: &[FirstReader] = &[
    FirstReader { dialects: &["functionary_v32"], weak: true, read: functionary::first },
    FirstReader { dialects: &["harmony", "muse"], weak: false, read: harmony::first },
];

/// Reads a text whose first mark stands in the prompt.
pub(super) struct FirstReader {
    pub dialects: &'static [&'static str],
    /// As for [`Marker::weak`].
    pub weak: bool,
    pub read: ReadFn,
}

/// The tags of reasoning. An opening tag means more at the start of a line.
pub(super) fn reasoning() -> &'static [Marker] {
    static MARKERS: OnceLock<Vec<Marker>> = OnceLock::new();
    MARKERS.get_or_init(|| {
        let of_tag = |tag: &'static ReasoningTag| {
            let begin = if tag.is_soft { common::mid_line } else { common::reasoning_block };
            let opens = tag.opens.iter().flat_map(move |open| {
                [Marker::new(open, begin).at_line(), Marker::new(open, common::mid_line)]
            });
            opens.chain(tag.closes.iter().map(|close| Marker::new(close, common::reasoning_end)))
        };
        TAGS.iter().flat_map(of_tag).collect()
    })
}

/// The marks that begin a turn.
pub(super) const TURNS: &[Marker] = &turn_markers();

const fn turn_markers() -> [Marker; TURN_MARKS.len()] {
    let mut markers = [Marker::new("", common::turn); TURN_MARKS.len()];
    let mut index = 0;
    while index < TURN_MARKS.len() {
        let marker = Marker::new(TURN_MARKS[index].text, common::turn);
        // A word is a mark only at the start of a line.
        let is_word = marker.text.as_bytes()[0].is_ascii_alphabetic();
        markers[index] = if is_word { marker.at_line() } else { marker };
        index += 1;
    }
    markers
}

/// The marks around the answers of tools. At the start of a line, the first one needs no closing mark.
pub(super) const RESPONSES: &[Marker] = &response_markers();

const fn response_markers() -> [Marker; 3 * ANSWERS.len()] {
    let mut markers = [Marker::new("", common::response_end); 3 * ANSWERS.len()];
    let mut index = 0;
    while index < ANSWERS.len() {
        markers[3 * index] = Marker::new(ANSWERS[index].open, common::response_block).at_line();
        markers[3 * index + 1] = Marker::new(ANSWERS[index].open, common::response_mid_line);
        markers[3 * index + 2] = Marker::new(ANSWERS[index].close, common::response_end);
        index += 1;
    }
    markers
}

/// The markers with which JSON is found that is not a call, beside those of reasoning: see `document`.
pub(super) const DOCUMENT: &[&[Marker]] = &[document::MARKERS, harmony::HARMONY.markers];
pub(super) use document::NAME as DOCUMENT_NAME;
pub(super) use json_bare::NAME as JSON_BARE_NAME;

/// Other markers that may occur in a text of any dialect.
pub(super) const COMMON: &[Marker] = &[
    Marker::new("```", common::code).at_line(),
    Marker::new("~~~", common::code).at_line(),
    Marker::new("Observation:", common::observation).at_line(),
    Marker::new("```", common::code).indented(),
    Marker::new("~~~", common::code).indented(),
    Marker::new("<!--", common::comment),
    Marker::new("<|eom_id|>", common::leftover),
    Marker::new("<|eot_id|>", common::leftover),
    Marker::new("<|eot|>", common::leftover),
    Marker::new("<|im_end|>", common::leftover),
    Marker::new("<|end_of_text|>", common::leftover),
    Marker::new("<|endoftext|>", common::leftover),
    Marker::new("<|observation|>", common::leftover),
    Marker::new("<|END_OF_TURN_TOKEN|>", common::leftover),
    Marker::new("<｜end▁of▁sentence｜>", common::leftover),
    Marker::new("<end_of_turn>", common::leftover),
    Marker::new("<turn|>", common::leftover),
    Marker::new("<start_function_response>", common::leftover),
    Marker::new("<|tool_response>", common::leftover),
    Marker::new("<|/tool_call|>", common::leftover),
    Marker::new("</s>", common::last),
    // Around the answer of Hunyuan A13B.
    Marker::new("</answer>", common::last),
];

/// Markers for dialects with this tag: a block that none of them can read, and an end tag that is left over.
pub(super) const TOOL_CALL: &str = "<tool_call>";
pub(super) const AROUND_TOOL_CALL: &[Marker] =
    &[Marker::new(TOOL_CALL, hermes::unreadable), Marker::new("</tool_call>", common::leftover)];

/// Families that write the format of another one, by the names that servers give them.
const SAME_AS: &[(&str, &str)] = &[
    ("berrylm", "qwen3_coder"),
    ("ling3", "glm45"),
    ("poolside_v1", "glm47"),
    ("spark25", "glm45"),
    ("spark3", "glm45"),
];

pub(super) fn named(name: &str) -> Option<&'static CallDialect> {
    let name = SAME_AS.iter().find(|(family, _)| *family == name).map_or(name, |(_, format)| format);
    ALL.iter().find(|dialect| dialect.name == name)
}

/// True for two dialects with a strong marker in common, or for one and the same.
pub(super) fn share_marker(one: &str, other: &str) -> bool {
    let strong = |name: &str| {
        let markers = named(name).map(|dialect| dialect.markers).unwrap_or_default();
        markers.iter().filter(|marker| !marker.weak).map(|marker| marker.text)
    };
    one == other || strong(one).any(|text| strong(other).any(|shared| shared == text))
}

/// The names of all dialects.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|dialect| dialect.name).collect()
}
