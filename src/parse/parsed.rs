//! The results of parsing: calls, the text around them, and the events of a stream.

use serde::{Deserialize, Serialize};

use super::call_arguments::CallArguments;
use super::certainty::Certainty;
use toolhub_text::message::Message;

/// A tool call found in a text. If it cannot be read, `error` says why and `raw` holds its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedCall {
    /// Empty only when there is an error and no name could be read.
    pub name: String,
    pub arguments: CallArguments,
    pub id: String,
    /// False for an id made here (`call_1`, …) because the model gave none, or gave the same one twice in a text.
    pub id_from_model: bool,
    /// A call of a custom tool of OpenAI, whose input is a text; its API takes the result in another form.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_custom: bool,
    pub source: Option<String>,
    /// Start and end in the input, in characters, tags included.
    pub span: (usize, usize),
    /// The repairs that were needed to read it.
    pub repairs: Vec<&'static str>,
    pub error: Option<Message>,
    pub raw: Option<String>,
    /// How certain it is that the call was meant; `None` while its text has not ended.
    pub certainty: Option<Certainty>,
}

/// The calls of a text, and the text around them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedText {
    /// In the order of the text.
    pub calls: Vec<ParsedCall>,
    /// Everything that is not part of a call.
    pub text: String,
    /// The dialect that the text commits to: the requested one, or that of the first call in a marker or a structure of an API.
    /// Bare forms commit to none.
    pub format: Option<String>,
}

/// One step of a stream. An event is final: it is never taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Text {
        text: String,
    },
    CallStart {
        index: usize,
        name: String,
    },
    ArgsDelta {
        index: usize,
        delta: String,
    },
    CallEnd {
        index: usize,
    },
    /// An entry with an error: see [`ParsedCall::error`].
    CallError {
        index: usize,
        error: String,
    },
}
