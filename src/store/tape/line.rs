//! The lines that a recorder writes. Their fields are described in `docs/reference/events.md`.

use serde::Serialize;
use serde_json::{Map, Value};
use toolhub_types::error::HubError;
use toolhub_types::model::ToolOutput;

/// The version of the format.
pub const VERSION: u64 = 2;
/// In the first line of every cassette.
pub const FORMAT: &str = "toolhub-events";

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A tool.
    Call,
    /// A model.
    Model,
}

impl LineKind {
    pub fn name(self) -> &'static str {
        match self {
            LineKind::Call => "call",
            LineKind::Model => "model",
        }
    }
}

/// A recorded call, as the calls that its tool makes know it.
#[derive(Clone)]
pub struct OuterCall {
    /// The number of the recording in this process.
    recording: u64,
    began: u64,
}

impl OuterCall {
    pub(super) fn new(recording: u64, began: u64) -> Self {
        OuterCall { recording, began }
    }

    /// Its number in this recording; a task of its tool may live on into a later one.
    pub(super) fn number_in(&self, recording: u64) -> Option<u64> {
        (self.recording == recording).then_some(self.began)
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TapedAnswer {
    Output(Box<ToolOutput>),
    Error(Box<HubError>),
    /// It was given up: another candidate had won, or its caller had gone.
    Stopped,
}

impl TapedAnswer {
    pub fn output(output: ToolOutput) -> Self {
        TapedAnswer::Output(Box::new(output))
    }

    pub fn error(error: HubError) -> Self {
        TapedAnswer::Error(Box::new(error))
    }

    pub fn of(answer: &Result<ToolOutput, HubError>) -> Self {
        match answer {
            Ok(output) => TapedAnswer::output(output.clone()),
            Err(error) => TapedAnswer::error(error.clone()),
        }
    }

    pub(super) fn outcome(&self) -> &'static str {
        match self {
            TapedAnswer::Output(_) => "ok",
            TapedAnswer::Error(error) => error.kind.name(),
            TapedAnswer::Stopped => "stopped",
        }
    }
}

/// A line with the envelope that all events have.
#[derive(Serialize)]
pub(super) struct EventLine<'a, F: Serialize> {
    pub v: u64,
    #[serde(rename = "type")]
    pub kind: &'a str,
    #[serde(flatten)]
    pub fields: F,
    pub time: String,
    pub principal: &'a str,
    pub view: &'a str,
    pub outcome: &'a str,
    pub ms: f64,
}

#[derive(Serialize)]
pub(super) struct CallFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    pub arguments: &'a Value,
    /// The other parts of the key by which a replay finds the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<&'a Value>,
    pub began: u64,
    pub ended: u64,
    pub at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    pub progress: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<OutputFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

#[derive(Serialize)]
pub(super) struct OutputFields {
    pub value: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

#[derive(Serialize)]
pub(super) struct QuestionFields<'a> {
    pub server: &'a str,
    pub method: &'a str,
    pub arguments: &'a Value,
    pub result: &'a Value,
}

#[derive(Serialize)]
pub(super) struct ListFields<'a> {
    pub server: &'a str,
    pub tools: &'a Value,
}
