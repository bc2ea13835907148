//! What the chat APIs return, as it is: the calls are in fields there, and need no reading.

use serde::Serialize;
use serde_json::{Map, Value};

use super::draft::{self, Draft, Shape};
use super::lenient::Repairs;
use super::options::Tools;
use super::tape::Tape;
use super::{Found, ParseOptions, Parsed, find};

/// The names of the APIs, as [`Parsed::format`](super::Parsed) has them.
pub(super) const APIS: &[&str] = &["openai", "openai_responses", "anthropic", "gemini"];

/// Finds the calls in a message, a response or a list of blocks of OpenAI (chat and responses), Anthropic or Gemini.
///
/// A message without such calls is a text, and is read as one. Spans are `(0, 0)`: there is no text to point at.
pub fn parse_value(value: &Value, options: &ParseOptions) -> Parsed {
    find_in(value, options).into()
}

/// As [`parse_value`], with the calls as they are kept.
pub(crate) fn find_in(value: &Value, options: &ParseOptions) -> Found {
    let mut found = Message {
        drafts: Vec::new(),
        raw: Vec::new(),
        text: String::new(),
        format: None,
        tools: &options.tools,
    };
    found.message(value);
    if found.drafts.is_empty() {
        return find(&found.text, options);
    }
    let tape = Tape::default();
    tape.emit(found.drafts, 0, found.format.unwrap_or("openai"));
    let mut calls = tape.take_calls();
    for (call, raw) in calls.iter_mut().zip(found.raw) {
        if let Some(failure) = &mut call.failure {
            failure.raw = raw;
        }
    }
    Found { calls, text: found.text, format: found.format.map(str::to_owned) }
}

struct Message<'a> {
    drafts: Vec<Draft>,
    /// What each of the drafts was read from, as JSON; empty where it could be read.
    raw: Vec<String>,
    text: String,
    format: Option<&'static str>,
    tools: &'a Tools,
}

impl Message<'_> {
    /// Anything that holds messages or parts of one.
    fn message(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text.push_str(text),
            Value::Array(items) => items.iter().for_each(|item| self.message(item)),
            Value::Object(map) => self.object(map),
            _ => {}
        }
    }

    fn object(&mut self, map: &Map<String, Value>) {
        let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "tool_use" => return self.call(map, "anthropic"),
            // The API itself has carried it out.
            "server_tool_use" => return,
            "function_call" => return self.call(map, "openai_responses"),
            "text" | "output_text" => {
                self.text.push_str(map.get("text").and_then(Value::as_str).unwrap_or_default());
                return;
            }
            "thinking" | "reasoning" | "redacted_thinking" => return,
            _ if map.get("thought") == Some(&Value::Bool(true)) => return,
            _ => {}
        }
        if let Some(Value::Object(call)) = map.get("functionCall").or_else(|| map.get("function_call")) {
            // Gemini's own package spells it as OpenAI once did; only OpenAI has `arguments` there.
            let is_openai = map.contains_key("function_call") && call.contains_key("arguments");
            self.call(call, if is_openai { "openai" } else { "gemini" });
        } else if kind.is_empty() && !map.contains_key("role") {
            self.message(map.get("text").unwrap_or(&Value::Null));
        }
        if map.get("function").is_some_and(Value::is_object) {
            self.call(map, "openai");
        }
        for key in ["choices", "candidates", "message", "output", "content", "parts"] {
            self.message(map.get(key).unwrap_or(&Value::Null));
        }
        for call in map.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let before = self.drafts.len();
            self.message(call);
            if self.drafts.len() == before && !call.is_null() {
                self.format.get_or_insert("openai");
                let why = "A tool call must be an object with a function.";
                self.add([Draft::failed("", why)], call);
            }
        }
    }

    fn add(&mut self, drafts: impl IntoIterator<Item = Draft>, value: &impl Serialize) {
        for draft in drafts {
            let failed = draft.error.is_some();
            let raw = failed.then(|| serde_json::to_string(value).ok()).flatten();
            self.raw.push(raw.unwrap_or_default());
            self.drafts.push(draft);
        }
    }

    fn call(&mut self, given: &Map<String, Value>, format: &'static str) {
        let mut map = given.clone();
        // A response has both: the id of the item, and the one that the answer must name.
        if let Some(id) = map.remove("call_id") {
            map.insert("id".into(), id);
        }
        let drafts = draft::calls(Value::Object(map), Repairs::default(), Shape::Marked, self.tools);
        self.format.get_or_insert(format);
        let drafts = drafts.into_iter().flatten();
        self.add(drafts.map(|draft| Draft { repairs: Repairs::default(), ..draft }), given);
    }
}
