//! The dialects: how each family of models marks its calls.

mod anthropic;
mod apertus;
mod cohere;
mod deepseek;
mod dsml;
mod gemma;
mod glm;
mod granite;
mod harmony;
mod hermes;
mod internlm;
mod jamba;
mod json_bare;
mod json_fence;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama3;
mod longcat;
mod minimax;
mod mistral;
mod nemotron;
mod olmo3;
mod phi4;
mod pythonic;
mod qwen3_coder;
mod react;
mod seed_oss;
mod step3;

use std::future::Future;
use std::pin::Pin;

use super::machine::Cx;
use super::read::common;

/// All of them, the most specific first: where two know a marker, the first that can read what follows has it.
pub(super) const ALL: &[Dialect] = &[
    hermes::HERMES,
    qwen3_coder::QWEN3_CODER,
    glm::GLM45,
    glm::GLM47,
    longcat::LONGCAT,
    seed_oss::SEED_OSS,
    anthropic::ANTHROPIC_XML,
    minimax::MINIMAX_M2,
    minimax::MINIMAX_M3,
    deepseek::DEEPSEEK_V3,
    deepseek::DEEPSEEK_V31,
    dsml::DEEPSEEK_DSML,
    dsml::DEEPSEEK_DSML_V4,
    kimi_k2::KIMI_K2,
    kimi_k3::KIMI_K3,
    harmony::HARMONY,
    mistral::MISTRAL_JSON,
    mistral::MISTRAL_ARGS,
    llama3::LLAMA3_JSON,
    cohere::COHERE,
    granite::GRANITE,
    internlm::INTERNLM,
    jamba::JAMBA,
    nemotron::NEMOTRON,
    apertus::APERTUS,
    gemma::FUNCTIONGEMMA,
    gemma::GEMMA4,
    step3::STEP3,
    lfm2::LFM2,
    olmo3::OLMO3,
    phi4::PHI4,
    json_fence::JSON_FENCE,
    json_bare::JSON_BARE,
    pythonic::PYTHONIC,
    react::REACT,
];

/// What may stand in a text of every dialect.
pub(super) const COMMON: &[Marker] = &[
    Marker::new("<think>", common::reasoning).at_line(),
    Marker::new("<thinking>", common::reasoning).at_line(),
    Marker::new("<reasoning>", common::reasoning).at_line(),
    Marker::new("<seed:think>", common::reasoning).at_line(),
    Marker::new("<longcat_think>", common::reasoning).at_line(),
    Marker::new("<|channel>thought", common::reasoning).at_line(),
    Marker::new("[THINK]", common::reasoning).at_line(),
    Marker::new("<|START_THINKING|>", common::reasoning).at_line(),
    Marker::new("```", common::code).at_line(),
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
    Marker::new("<tool_call>", hermes::unreadable),
    Marker::new("</tool_call>", common::leftover),
];

pub(super) struct Dialect {
    pub name: &'static str,
    pub markers: &'static [Marker],
}

pub(super) fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}

/// What may begin a call.
#[derive(Clone, Copy)]
pub(super) struct Marker {
    pub text: &'static str,
    /// Only at the start of a line.
    pub at_line: bool,
    /// Text has it without meaning a call: it counts only while no call with a marker was seen.
    pub weak: bool,
    /// Whether a byte may come next; text has short markers often, and a look is cheaper than a reader.
    pub follows: fn(u8) -> bool,
    pub read: ReadFn,
}

impl Marker {
    pub const fn new(text: &'static str, read: ReadFn) -> Self {
        Self { text, at_line: false, weak: false, follows: |_| true, read }
    }

    pub const fn at_line(self) -> Self {
        Self { at_line: true, ..self }
    }

    pub const fn weak(self) -> Self {
        Self { weak: true, ..self }
    }

    pub const fn before(self, follows: fn(u8) -> bool) -> Self {
        Self { follows, ..self }
    }
}

/// Where a marker begins, and what is behind it.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub start: usize,
    pub after: usize,
}

/// What a reader made of it.
pub(super) enum Read {
    /// Not mine; nothing was emitted.
    No,
    /// It is text up to there.
    Text(usize),
    /// A block with its calls, up to there.
    Block(usize),
}

pub(super) type Reading<'a> = Pin<Box<dyn Future<Output = Read> + Send + 'a>>;
pub(super) type ReadFn = for<'a> fn(&'a Cx, Opening) -> Reading<'a>;
