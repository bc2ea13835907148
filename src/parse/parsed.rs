//! The results of parsing: calls, the text around them, and the events of a stream.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhub_text::canonical::canonical;
use toolhub_text::{Message, message};

use super::call_arguments::CallArguments;
use super::certainty::Certainty;
use super::lenient::{self, MissingClosers, Notation, Repairs, SyntaxRepair};

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
    pub repairs: Repairs,
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
    pub format: Option<&'static str>,
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

/// Why arguments that continue after the end of their text cannot be read.
pub(super) const CUT: &str = "the text ends before they do";

/// The error of a call without a name.
pub const NO_NAME: &str = "The call has no name.";

/// A call as a dialect wrote it, before it has a position. Its id is empty if the model gave none.
pub(super) type Draft = ParsedCall;

impl Draft {
    pub(super) fn failed(name: &str, error: impl Into<Message>) -> Self {
        Self { name: name.to_owned(), error: Some(error.into()), ..Self::default() }
    }

    /// A call that cannot be read, for this reason.
    pub(super) fn unreadable(name: &str, why: impl Into<Message>) -> Self {
        Self::failed(name, message!("The call cannot be read: {}.", why.into()))
    }

    /// Makes it a call that cannot be read, for this reason.
    pub(super) fn fail(&mut self, why: &'static str) {
        let Self { name, id, is_custom, raw, .. } = std::mem::take(self);
        *self = Self { id, is_custom, raw, ..Self::unreadable(&name, why) };
    }

    /// A call whose text ends before its arguments do.
    pub(super) fn cut(name: &str) -> Self {
        Self::failed(name, unread(CUT))
    }

    /// A call with its arguments, or with the reason why they cannot be read.
    pub(super) fn new(name: &str, arguments: Result<Value, Message>, repairs: Repairs) -> Self {
        let mut draft = Self { name: name.to_owned(), repairs, ..Self::default() };
        match arguments {
            _ if name.is_empty() => draft.error = Some(NO_NAME.into()),
            Ok(Value::Object(arguments)) => draft.arguments = arguments.into(),
            Ok(Value::Null) => {}
            Ok(Value::String(text)) => draft.take_text(&text),
            Ok(other) => draft.error = Some(not_an_object(kind_of(&other))),
            Err(why) => draft.error = Some(unread(why)),
        }
        draft
    }

    /// True for a part of a text that is not a call by itself.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.is_empty() && self.error.is_some()
    }

    /// The same call, or an error if its arguments were completed: an API, unlike an end tag, does not show that the model had
    /// said all. `json` are the arguments as they came, if they came as text.
    pub(super) fn unless_cut(self, json: Option<&str>) -> Self {
        let lacks_end =
            |json: &str| lenient::read(json.trim(), Notation::Json, MissingClosers::NONE).is_err();
        let was_repaired = self.error.is_none() && self.repairs.has(SyntaxRepair::MissingBrackets);
        match was_repaired && json.is_some_and(lacks_end) {
            true => Self { id: self.id, source: self.source, ..Self::cut(&self.name) },
            false => self,
        }
    }

    /// True for the same tool with the same arguments.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let arguments = |draft: &Self| canonical(&Value::Object((*draft.arguments).clone()));
        self.error.is_none() && self.name == other.name && arguments(self) == arguments(other)
    }

    /// Takes arguments that are JSON inside a string.
    fn take_text(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        // The string ends where the model ended it, like a value before its end tag: brackets may be missing.
        match lenient::read(text.trim(), Notation::Json, MissingClosers::ALL) {
            Ok(reading) if reading.dangling > 0 => self.error = Some(unread(CUT)),
            Ok(reading) if reading.value.is_object() && reading.whole => {
                self.repairs.join(reading.repairs);
                self.repairs.add(SyntaxRepair::ArgumentsAsString);
                if let Value::Object(arguments) = reading.value {
                    self.arguments = arguments.into();
                }
            }
            Err(why) if text.trim_start().starts_with('{') => self.error = Some(unread(why)),
            Ok(reading) if reading.value.is_array() && reading.whole => {
                self.error = Some(not_an_object("a list"));
            }
            _ => self.error = Some(not_an_object("a text")),
        }
    }
}

fn unread(why: impl Into<Message>) -> Message {
    message!("The arguments cannot be read: {}.", why.into())
}

fn not_an_object(kind: &'static str) -> Message {
    message!("The arguments must be an object, but are {}.", Message::from(kind))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        _ => "a text",
    }
}
