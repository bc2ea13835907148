//! One call as data: where its tool comes from, what its caller may ask for, what goes into the tool and what comes out of it.

use super::Safety;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use toolhub_text::pattern::PatternList;
use toolhub_text::{Message, message};

crate::named! {
    /// The three sources, in the order of their default priority.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Source {
        Tools = "tools",
        Skills = "skills",
        Mcps = "mcps",
    }
}

impl Source {
    /// Lower comes first.
    pub fn default_priority(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named! {
    /// How several candidates are used.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Strategy {
        /// The hub decides.
        #[default]
        Auto = "auto",
        /// A race: the first success wins.
        First = "first",
        /// Run a batch, keep every success.
        All = "all",
        /// One after another.
        Fallback = "fallback",
    }
}

crate::named! {
    /// Who comes first among the candidates of one name.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Prefer {
        /// The lower priority.
        #[default]
        Priority = "priority",
        /// Tools of MCP servers, whatever the priorities.
        Mcps = "mcps",
    }
}

crate::named! {
    /// What becomes of a server's tool that has the name of a native one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Shadow {
        /// It is a candidate, and explanations say so.
        #[default]
        Report = "report",
        /// It is never called.
        Deny = "deny",
    }
}

/// The options of one call; `None` means the hub's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallOptions {
    pub strategy: Option<Strategy>,
    /// For one candidate.
    pub timeout: Option<Duration>,
    /// For the whole call.
    pub deadline: Option<Duration>,
    pub max_parallel: Option<usize>,
    pub hedge_after: Option<Duration>,
    pub source: Option<Source>,
    pub server: Option<Arc<str>>,
    pub prefer: Option<Prefer>,
    /// The patterns that a provider has to match, where the permissions of the call allow some providers of a tool only.
    pub allowed: Option<Arc<PatternList>>,
    /// How careful a caller may have to be with a provider at most; `None`: any provider.
    pub safety: Option<Safety>,
    /// For whom the call is made, where that matters. Calls of different principals never share a result.
    pub principal: Option<Arc<str>>,
    /// What the credentials of the principal grant. Calls with different rights never share a result, but are of one run.
    pub rights: Option<Arc<str>>,
    /// The run that the call is a part of.
    pub run: Option<Arc<str>>,
    /// A model asked for the tool: the first match answers alone, the others are its fallback.
    pub is_routed: bool,
}

/// What is kept of a call whose arguments are not: digests of what makes it the same call.
#[derive(Clone, Debug, Default)]
pub struct KeyDigests {
    pub key: Arc<str>,
    /// Of the arguments alone, by which an effect is found where it has happened.
    pub arguments: Arc<str>,
}

/// How current the definition of a tool has to be for a call of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// As it is known, perhaps from an earlier process. That it may be repeated is confirmed all the same.
    #[default]
    Any,
    /// Listed over the connection that the call leaves by: a run keeps the definition, or it says that nobody need be asked.
    Connection,
    /// Listed just now: somebody approves it. No promise of a server (`ttlMs`, `listChanged`) takes the place of the list.
    Now,
}

/// The arguments of a call: always a mapping. A bare value is bound to a parameter before it gets here.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments(Value);

/// In bytes of text, more or less.
const LIGHT: usize = 4096;

/// How long a value is as text, more or less, if that is at most `most`. What is larger is not looked at to its end.
pub fn size_within(value: &Value, most: usize) -> Option<usize> {
    left_after(value, 1, most).map(|left| most - left)
}

/// What is left of a size after the texts in a value, and `each` for every value in it; `None` if it is larger.
pub fn left_after(value: &Value, each: usize, left: usize) -> Option<usize> {
    let left = left.checked_sub(each)?;
    match value {
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(items) => items.iter().try_fold(left, |left, item| left_after(item, each, left)),
        Value::Object(map) => map
            .iter()
            .try_fold(left, |left, (key, value)| left_after(value, each, left.checked_sub(key.len())?)),
        _ => Some(left),
    }
}

impl Arguments {
    pub fn new(map: Map<String, Value>) -> Self {
        Arguments(Value::Object(map))
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    pub fn into_value(self) -> Value {
        self.0
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.as_object().into_iter().flatten()
    }

    /// Whether they are written down in a moment. What is heavy is not looked at to its end.
    pub fn is_light(&self) -> bool {
        size_within(&self.0, LIGHT).is_some()
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments::new(Map::new())
    }
}

/// One of several answers that are about to be merged.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The source of the answer.
    pub label: String,
    /// The text, or its start if it is longer than [`Part::LONG`] characters.
    pub start: Cow<'a, str>,
    /// The whole of a long text, in the encoding of its owner; `None` if `start` is all of it. Two long texts are compared
    /// byte by byte, so they must have the same owner.
    pub long: Option<&'a [u8]>,
    /// As much of the text as its limit allows.
    pub shown: String,
    /// Whether that is less than all of it.
    pub cut: bool,
}

impl Part<'_> {
    /// From this number of characters on, only the start of a text is decoded.
    pub const LONG: usize = 10_000;
}

/// What a tool that lives in Rust answers. Python values never pass through here; they stay where they are.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    pub value: Value,
    /// The content blocks of an MCP server, as they came.
    pub content: Option<Value>,
    /// Its `structuredContent`.
    pub structured: Option<Value>,
    /// Its `_meta`.
    pub meta: Option<Value>,
    /// The whole result of an MCP server, as it came. Only if the caller wants it ([`crate::tool::CallContextExtras::keep_raw`]): it
    /// is as large as all other fields together.
    pub raw: Option<Arc<RawValue>>,
}

/// `raw` has the same information as the other fields, in another form.
impl PartialEq for ToolOutput {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
            && self.content == other.content
            && self.structured == other.structured
            && self.meta == other.meta
    }
}

impl ToolOutput {
    pub fn new(value: impl Into<Value>) -> Self {
        ToolOutput { value: value.into(), ..Self::default() }
    }

    /// What this answer means. A tool in Rust that returns nothing has done its work.
    pub fn meaning(&self) -> Meaning {
        meaning(&&self.value, NothingMeans::Success)
    }

    /// What a reader of the answer wants to see: the result inside a tool's own result, otherwise the value.
    pub fn inner(&self) -> Value {
        own_result(&self.value).unwrap_or_else(|| self.value.clone())
    }
}

/// What the rules about returned values need to know, in whichever language the value lives.
pub trait ReturnedValue: Sized {
    fn is_nothing(&self) -> bool;
    /// True for nothing, `false`, zero, an empty text and an empty container.
    fn is_falsy(&self) -> bool;
    /// The entry of a mapping; `None` for everything else.
    fn entry(&self, key: &'static str) -> Option<Self>;
    /// How the value reads in a sentence.
    fn shown(&self) -> Option<String>;
}

/// What a returned value means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is the result.
    Value,
    /// A mapping with `success`: the tool's own result, of which the keys are kept.
    OwnResult,
    Failure(ReportedFailure),
}

/// A failure that a tool reports by what it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportedFailure {
    /// It returned nothing, though it should return something.
    Nothing,
    /// A mapping with a falsy `success`, and the tool's own text if it has one. The other keys are kept.
    Own(Option<String>),
    /// A coroutine that should have been awaited.
    NotAwaited,
}

impl ReportedFailure {
    /// The tool's own text, or a sentence.
    pub fn message(&self, tool: &str) -> Message {
        let reason = match self {
            ReportedFailure::Own(Some(text)) => return text.clone().into(),
            ReportedFailure::Own(None) => message!("it reported success: False without an error"),
            ReportedFailure::Nothing => message!("it returned nothing (None)"),
            ReportedFailure::NotAwaited => {
                message!("it returned a coroutine instead of a value; await it inside")
            }
        };
        message!("Tool '{}' failed: {}", tool, reason)
    }
}

/// What it means when a tool returns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingMeans {
    Success,
    /// For objects with `execute(input)`: orchestrators that have such tools rely on it.
    Failure,
}

const SUCCESS: &str = "success";
const ERROR: &str = "error";
const RESULT: &str = "result";
/// The keys under which tools say why they failed, the usual ones first.
const REASONS: [&str; 5] = [ERROR, "message", "errors", "reason", "detail"];

/// The one rule for what a returned value means.
pub fn meaning<V: ReturnedValue>(value: &V, nothing: NothingMeans) -> Meaning {
    if value.is_nothing() {
        return match nothing {
            NothingMeans::Success => Meaning::Value,
            NothingMeans::Failure => Meaning::Failure(ReportedFailure::Nothing),
        };
    }
    match value.entry(SUCCESS) {
        None => Meaning::Value,
        Some(success) if !success.is_falsy() => Meaning::OwnResult,
        Some(_) => {
            let reason = |key| {
                let reason = value.entry(key).filter(|reason| !reason.is_falsy())?;
                reason.shown().filter(|text| !text.trim().is_empty())
            };
            let text = REASONS.into_iter().find_map(reason);
            Meaning::Failure(ReportedFailure::Own(text))
        }
    }
}

/// The result inside a tool's own result: its `result`, or the mapping without `success` and `error`. `None` for any other
/// value.
pub fn own_result(value: &Value) -> Option<Value> {
    let map = value.as_object().filter(|map| map.contains_key(SUCCESS))?;
    Some(map.get(RESULT).cloned().unwrap_or_else(|| {
        let rest = map.iter().filter(|(key, _)| ![SUCCESS, ERROR].contains(&key.as_str()));
        Value::Object(rest.map(|(key, value)| (key.clone(), value.clone())).collect())
    }))
}

impl ReturnedValue for &Value {
    fn is_nothing(&self) -> bool {
        self.is_null()
    }

    fn is_falsy(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(truth) => !truth,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
        }
    }

    fn entry(&self, key: &'static str) -> Option<Self> {
        self.as_object().and_then(|map| map.get(key))
    }

    fn shown(&self) -> Option<String> {
        Some(self.as_str().map_or_else(|| self.to_string(), str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reason(value: Value) -> Option<Message> {
        match ToolOutput::new(value).meaning() {
            Meaning::Failure(failure) => Some(failure.message("t")),
            _ => None,
        }
    }

    #[test]
    fn a_falsy_success_is_a_failure_with_the_reason_of_the_tool() {
        for falsy in [json!(false), json!(0), json!(null), json!(""), json!([]), json!({})] {
            assert_eq!(reason(json!({"success": falsy, "error": "no disk"})).as_deref(), Some("no disk"));
        }
        assert_eq!(
            reason(json!({"success": false, "error": "", "message": "no paper"})).as_deref(),
            Some("no paper")
        );
        assert_eq!(reason(json!({"success": false, "errors": ["a", "b"]})).as_deref(), Some(r#"["a","b"]"#));
        assert!(reason(json!({"success": false})).is_some_and(|reason| reason.contains("without an error")));
        assert_eq!(ToolOutput::new(json!({"rows": []})).meaning(), Meaning::Value);
        assert_eq!(ToolOutput::new(json!(false)).meaning(), Meaning::Value);
    }

    #[test]
    fn nothing_is_a_success_except_for_objects_that_say_otherwise() {
        assert_eq!(meaning(&&Value::Null, NothingMeans::Success), Meaning::Value);
        assert!(matches!(meaning(&&Value::Null, NothingMeans::Failure), Meaning::Failure(_)));
    }

    #[test]
    fn the_result_inside_a_tool_s_own_result() {
        assert_eq!(ToolOutput::new(json!({"success": true})).meaning(), Meaning::OwnResult);
        assert_eq!(own_result(&json!({"success": true, "result": 5, "took": 1})), Some(json!(5)));
        assert_eq!(
            own_result(&json!({"success": 1, "error": null, "rows": [1]})),
            Some(json!({"rows": [1]}))
        );
        assert_eq!(own_result(&json!({"rows": [1]})), None);
    }
}
