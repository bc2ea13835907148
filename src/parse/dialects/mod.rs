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
mod jamba;
mod json_bare;
mod json_fence;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama3;
mod longcat;
mod minicpm5;
mod minimax;
mod mistral;
mod muse;
mod nemotron;
mod olmo3;
mod phi4;
mod pythonic;
mod qwen3_coder;
mod react;
mod sarashina;
mod seed_oss;
mod step3;

use super::marker::{CallDialect, Marker, ReadFn};
use super::read::common;

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
    minicpm5::MINICPM5,
    dots::DOTS,
    inkling::INKLING,
    gigachat3::GIGACHAT3,
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

/// Readers of a text whose first mark stands in the prompt, by the name of their dialect. They get the start of the text.
pub(super) const FIRST: &[(&str, ReadFn)] = &[("functionary_v32", functionary::first)];

/// The markers with which JSON is found that is not a call: see `document`.
pub(super) const DOCUMENT: &[&[Marker]] = &[document::MARKERS, harmony::HARMONY.markers, REASONING];
pub(super) use document::NAME as DOCUMENT_NAME;

/// The marks of reasoning, which may occur in a text of any dialect.
pub(super) const REASONING: &[Marker] = &[
    Marker::new("<think>", common::reasoning_block).at_line(),
    Marker::new("<thinking>", common::reasoning_block).at_line(),
    Marker::new("<thought>", common::reasoning_block).at_line(),
    Marker::new("<reasoning>", common::reasoning_block).at_line(),
    Marker::new("<seed:think>", common::reasoning_block).at_line(),
    Marker::new("<mm:think>", common::reasoning_block).at_line(),
    Marker::new("<longcat_think>", common::reasoning_block).at_line(),
    Marker::new("<|channel>thought", common::reasoning_block).at_line(),
    Marker::new("[THINK]", common::reasoning_block).at_line(),
    Marker::new("<|START_THINKING|>", common::reasoning_block).at_line(),
    Marker::new("<|begin_of_thought|>", common::reasoning_block).at_line(),
    Marker::new("<|inner_prefix|>", common::reasoning_block).at_line(),
    Marker::new("◁think▷", common::reasoning_block).at_line(),
    Marker::new("<|open|>think<|sep|>", common::reasoning_block).at_line(),
    Marker::new("<think>", common::mid_line),
    Marker::new("<thinking>", common::mid_line),
    Marker::new("<thought>", common::mid_line),
    Marker::new("<reasoning>", common::mid_line),
    Marker::new("<seed:think>", common::mid_line),
    Marker::new("<mm:think>", common::mid_line),
    Marker::new("<longcat_think>", common::mid_line),
    Marker::new("<|channel>thought", common::mid_line),
    Marker::new("[THINK]", common::mid_line),
    Marker::new("<|START_THINKING|>", common::mid_line),
    Marker::new("<|begin_of_thought|>", common::mid_line),
    Marker::new("<|inner_prefix|>", common::mid_line),
    Marker::new("◁think▷", common::mid_line),
    Marker::new("<|open|>think<|sep|>", common::mid_line),
    Marker::new("</think>", common::reasoning_end),
    Marker::new("</thinking>", common::reasoning_end),
    Marker::new("</thought>", common::reasoning_end),
    Marker::new("</reasoning>", common::reasoning_end),
    Marker::new("</seed:think>", common::reasoning_end),
    Marker::new("</mm:think>", common::reasoning_end),
    Marker::new("</longcat_think>", common::reasoning_end),
    Marker::new("<channel|>", common::reasoning_end),
    Marker::new("[/THINK]", common::reasoning_end),
    Marker::new("<|END_THINKING|>", common::reasoning_end),
    Marker::new("<|end_of_thought|>", common::reasoning_end),
    Marker::new("<|inner_suffix|>", common::reasoning_end),
    Marker::new("◁/think▷", common::reasoning_end),
    Marker::new("<|close|>think<|sep|>", common::reasoning_end),
];

/// Other markers that may occur in a text of any dialect.
pub(super) const COMMON: &[Marker] = &[
    Marker::new("```", common::code).at_line(),
    Marker::new("~~~", common::code).at_line(),
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
];

/// Markers for dialects with this tag: a block that none of them can read, and an end tag that is left over.
pub(super) const TOOL_CALL: &str = "<tool_call>";
pub(super) const AROUND_TOOL_CALL: &[Marker] =
    &[Marker::new(TOOL_CALL, hermes::unreadable), Marker::new("</tool_call>", common::leftover)];

pub(super) fn named(name: &str) -> Option<&'static CallDialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}

/// The names of all dialects.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|dialect| dialect.name).collect()
}
