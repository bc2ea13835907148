//! The results of parsing: calls, the text around them, and the events of a stream.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use toolhub_text::canonical::canonical;
use toolhub_text::{Message, message};

use super::certainty::Certainty;
use super::lenient::{self, LenientValue, MissingClosers, Notation, Repairs, SyntaxRepair};

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
            Ok(LenientValue { value: Value::Object(arguments), whole: true, repairs, .. }) => {
                self.repairs.join(repairs);
                self.repairs.add(SyntaxRepair::ArgumentsAsString);
                self.arguments = arguments.into();
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

// Arguments: in a text with many calls, a map for each of them costs more than finding it. So short arguments in strict JSON stay
// the text that the model wrote until somebody reads them.

/// Longer arguments are read at once: who reads them later may hold a lock that others wait for.
const LONGEST: usize = 4_000;
/// With no more brackets than this, no reader can run out of stack.
const MOST_BRACKETS: usize = 32;

/// A JSON object, which is read when it is needed.
#[derive(Clone, Debug, Default)]
pub struct CallArguments {
    json: Option<Box<str>>,
    map: OnceLock<Box<Map<String, Value>>>,
}

impl CallArguments {
    /// Takes an object whose syntax was checked. Only that: an escape may stand for no character.
    pub(super) fn from_checked(json: &str) -> Option<Self> {
        let brackets = || json.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
        // Each bracket has its closing one.
        let is_deep = json.len() > 2 * MOST_BRACKETS && brackets() > MOST_BRACKETS;
        let has_escapes = memchr::memchr(b'\\', json.as_bytes()).is_some();
        if json.len() > LONGEST || (has_escapes && json.contains("\\u")) || is_deep {
            return serde_json::from_str::<Map<_, _>>(json).ok().map(Self::from);
        }
        json.starts_with('{').then(|| Self { json: Some(json.into()), map: OnceLock::new() })
    }

    /// The object as strict JSON, if it was not read before: a short text without `\u`, not nested deeply.
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    pub fn into_map(self) -> Map<String, Value> {
        self.read();
        self.map.into_inner().map(|map| *map).unwrap_or_default()
    }

    fn read(&self) -> &Map<String, Value> {
        let read = || self.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        self.map.get_or_init(|| Box::new(read()))
    }
}

impl From<Map<String, Value>> for CallArguments {
    fn from(map: Map<String, Value>) -> Self {
        Self { json: None, map: OnceLock::from(Box::new(map)) }
    }
}

impl Deref for CallArguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        self.read()
    }
}

impl PartialEq for CallArguments {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for CallArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_and_the_map_are_the_same_object() {
        for json in
            [r#"{}"#, r#"{"a": [1, {"b": "x\n"}], "a": 1e3}"#, r#"{"n": 123456789012345678901234567890}"#]
        {
            let arguments = CallArguments::from_checked(json).unwrap();
            assert_eq!(arguments.json(), Some(json));
            let map: Map<String, Value> = serde_json::from_str(json).unwrap();
            assert_eq!(*arguments, map);
            assert_eq!(arguments.into_map(), map);
        }
    }

    #[test]
    fn what_readers_could_disagree_on_is_read_at_once() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(LONGEST));
        for json in [r#"{"a": "\u00e9"}"#, &long] {
            assert_eq!(CallArguments::from_checked(json).unwrap().json(), None, "{json}");
        }
        for json in [r#"{"a": "\ud800"}"#, "[]"] {
            assert!(CallArguments::from_checked(json).is_none(), "{json}");
        }
    }
}
