//! What goes into a tool and what comes out of it, on the Rust side.

use serde_json::{Map, Value};

/// The arguments of a call: always a mapping. A bare value is bound to a parameter before it gets here.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments(Value);

/// In bytes of text, more or less.
const LIGHT: usize = 4096;

impl Arguments {
    pub fn new(map: Map<String, Value>) -> Self {
        Arguments(Value::Object(map))
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.as_object().into_iter().flatten()
    }

    /// Whether they are written down in a moment. What is heavy is not looked at to its end.
    pub fn is_light(&self) -> bool {
        fn weigh(value: &Value, left: usize) -> Option<usize> {
            match value {
                Value::String(text) => left.checked_sub(text.len() + 1),
                Value::Array(items) => {
                    items.iter().try_fold(left.checked_sub(1)?, |left, item| weigh(item, left))
                }
                Value::Object(map) => map.iter().try_fold(left.checked_sub(1)?, |left, (key, value)| {
                    weigh(value, left.checked_sub(key.len())?)
                }),
                _ => left.checked_sub(1),
            }
        }
        weigh(&self.0, LIGHT).is_some()
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments::new(Map::new())
    }
}

/// One of several answers, on its way to be put together with the others.
#[derive(Clone, Debug)]
pub struct Part {
    /// Whose answer it is.
    pub label: String,
    pub text: String,
    /// As much of it as its limit allows.
    pub shown: String,
    /// Whether that is less than all of it.
    pub cut: bool,
}

/// What a tool that lives in Rust answers. Python values never pass through here; they stay where they are.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub value: Value,
    /// The content blocks of an MCP server, as they came.
    pub content: Option<Value>,
    /// Its `structuredContent`.
    pub structured: Option<Value>,
    /// Its `_meta`.
    pub meta: Option<Value>,
}

impl ToolOutput {
    pub fn new(value: impl Into<Value>) -> Self {
        ToolOutput { value: value.into(), content: None, structured: None, meta: None }
    }

    /// Why this answer counts as a failure, if it does.
    pub fn failure(&self) -> Option<String> {
        reported_failure(&&self.value)
    }
}

/// What the failure rule needs to know about a returned value, in whichever language the value lives.
pub trait ReturnedValue: Sized {
    fn is_nothing(&self) -> bool;
    /// True for the boolean `false` only.
    fn is_false(&self) -> bool;
    /// The entry of a mapping; `None` for everything else.
    fn entry(&self, key: &'static str) -> Option<Self>;
    /// How the value reads in a sentence.
    fn shown(&self) -> Option<String>;
}

/// In characters: an error text that a tool reports is cut to this length.
const MAX_REASON: usize = 1_000;

/// The one rule for values that report a failure: nothing at all, or a mapping with `success: false`.
pub fn reported_failure<V: ReturnedValue>(value: &V) -> Option<String> {
    if value.is_nothing() {
        return Some("it returned nothing (None)".into());
    }
    if !value.entry("success").is_some_and(|success| success.is_false()) {
        return None;
    }
    let reason = |key| value.entry(key).filter(|reason| !reason.is_nothing());
    let text = reason("error").or_else(|| reason("message")).and_then(|reason| reason.shown());
    Some(match text {
        Some(text) => text.chars().take(MAX_REASON).collect(),
        None => "it reported success: False without an error".into(),
    })
}

impl ReturnedValue for &Value {
    fn is_nothing(&self) -> bool {
        self.is_null()
    }

    fn is_false(&self) -> bool {
        **self == Value::Bool(false)
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

    #[test]
    fn nothing_and_success_false_are_failures() {
        assert!(ToolOutput::new(Value::Null).failure().is_some());
        assert_eq!(
            ToolOutput::new(json!({"success": false, "error": "no disk"})).failure().as_deref(),
            Some("no disk")
        );
        assert_eq!(
            ToolOutput::new(json!({"success": false, "error": null, "message": "no paper"}))
                .failure()
                .as_deref(),
            Some("no paper")
        );
        assert_eq!(ToolOutput::new(json!({"success": true})).failure(), None);
        assert_eq!(ToolOutput::new(json!({"rows": []})).failure(), None);
        assert_eq!(ToolOutput::new(json!(false)).failure(), None);
    }
}
