//! The structure of messages of the chat APIs: where their calls and their text are.

use serde::Serialize;
use serde_json::{Map, Value};

use super::draft::Draft;
use super::json_calls::{self, CallShape};
use super::keys::{ARGUMENT_KEYS, NAME_KEYS};
use super::repair::{Repairs, SyntaxRepair};
use super::schemas::ToolSchemas;

/// Keys that hold the parts of a message or response.
const PART_KEYS: &[&str] = &["content", "choices", "candidates", "message", "output", "parts"];
/// Types of blocks that stand beside those of calls.
const BLOCKS: &[&str] = &[
    "text",
    "output_text",
    "tool_use",
    "server_tool_use",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "message",
];

/// What a JSON value is that a text consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A message of the model, its blocks, or a response.
    Answer,
    /// Also messages to the model: its calls were made before.
    Conversation,
    Other,
}

/// Tells messages from other data.
pub(super) fn kind_of(value: &Value) -> MessageKind {
    match value {
        Value::Object(map) => {
            let role = map.get("role").and_then(Value::as_str);
            let is_call = NAME_KEYS.iter().any(|key| map.get(*key).is_some_and(Value::is_string))
                && ARGUMENT_KEYS.iter().any(|key| map.contains_key(*key));
            let has_parts = PART_KEYS.iter().any(|key| map.contains_key(*key));
            match role {
                Some("assistant" | "model") => MessageKind::Answer,
                Some("user" | "system" | "developer" | "tool" | "function") => MessageKind::Conversation,
                None if has_parts && !is_call => MessageKind::Answer,
                _ => MessageKind::Other,
            }
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            let kinds: Vec<_> = items.iter().map(kind_of).collect();
            let is_block = |item: &Value| {
                item.get("type").and_then(Value::as_str).is_some_and(|kind| BLOCKS.contains(&kind))
            };
            match () {
                () if kinds.contains(&MessageKind::Conversation) => MessageKind::Conversation,
                () if kinds.contains(&MessageKind::Answer) || items.iter().any(is_block) => {
                    MessageKind::Answer
                }
                () => MessageKind::Other,
            }
        }
        _ => MessageKind::Other,
    }
}

/// What was found in a message.
pub(super) struct ApiMessage<'a> {
    pub drafts: Vec<Draft>,
    /// The JSON of each draft that has an error.
    pub raw: Vec<Option<String>>,
    pub text: String,
    pub format: Option<&'static str>,
    tools: &'a dyn ToolSchemas,
}

impl<'a> ApiMessage<'a> {
    pub fn new(value: &Value, tools: &'a dyn ToolSchemas) -> Self {
        let mut found =
            Self { drafts: Vec::new(), raw: Vec::new(), text: String::new(), format: None, tools };
        found.message(value);
        found
    }

    /// Anything that holds messages or parts of a message.
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
            // The API has already executed it.
            "server_tool_use" => return,
            "function_call" => return self.call(map, "openai_responses"),
            "custom_tool_call" => return self.custom_call(map, map, "openai_responses"),
            "custom" => {
                if let Some(Value::Object(custom)) = map.get("custom") {
                    return self.custom_call(map, custom, "openai");
                }
            }
            "text" | "output_text" => {
                self.text.push_str(map.get("text").and_then(Value::as_str).unwrap_or_default());
                return;
            }
            "thinking" | "reasoning" | "redacted_thinking" => return,
            _ if map.get("thought") == Some(&Value::Bool(true)) => return,
            _ => {}
        }
        if let Some(Value::Object(call)) = map.get("functionCall").or_else(|| map.get("function_call")) {
            // Gemini's SDK uses the key of OpenAI's old API; only OpenAI has `arguments` in it.
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
                let id = call.as_object().and_then(json_calls::id_of);
                self.add([Draft { id, ..Draft::failed("", why) }], call);
            }
        }
    }

    fn add(&mut self, drafts: impl IntoIterator<Item = Draft>, value: &impl Serialize) {
        for draft in drafts {
            let failed = draft.error.is_some();
            self.raw.push(failed.then(|| serde_json::to_string(value).unwrap_or_default()));
            self.drafts.push(draft);
        }
    }

    /// A call of a custom tool: its input is a text, which is the argument of a tool that takes one.
    fn custom_call(&mut self, given: &Map<String, Value>, call: &Map<String, Value>, format: &'static str) {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default().trim();
        let input = call.get("input").cloned().unwrap_or_default();
        let schema = self.tools.parameters(name);
        let arguments = match schema.and_then(only_parameter).filter(|_| input.is_string()) {
            Some(parameter) => Map::from_iter([(parameter.to_owned(), input)]).into(),
            None => input,
        };
        let id = given.get("call_id").or_else(|| given.get("id")).and_then(Value::as_str);
        let draft = Draft::new(name, Ok(arguments), Repairs::default());
        let repairs = draft.repairs.without(&[SyntaxRepair::ArgumentsAsString]);
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        self.format.get_or_insert(format);
        self.add([Draft { id, repairs, is_custom: true, ..draft }], given);
    }

    fn call(&mut self, given: &Map<String, Value>, format: &'static str) {
        let mut map = given.clone();
        // A response has two ids: that of the item, and `call_id`, which the result must name.
        if let Some(id) = map.remove("call_id") {
            map.insert("id".into(), id);
        }
        let drafts = json_calls::calls(Value::Object(map), Repairs::default(), CallShape::Marked, self.tools);
        self.format.get_or_insert(format);
        let drafts = drafts.into_iter().flatten();
        // Structures and text for arguments are the API's own form.
        let own = [SyntaxRepair::NestedShape, SyntaxRepair::ArgumentsAsString];
        self.add(drafts.map(|draft| Draft { repairs: draft.repairs.without(&own), ..draft }), given);
    }
}

/// The parameter of a tool that takes one: the only one that is required, or the only one at all.
fn only_parameter(schema: &Value) -> Option<&str> {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match required {
        [only] => only.as_str(),
        [] => {
            let properties = schema.get("properties")?.as_object()?;
            properties.keys().next().filter(|_| properties.len() == 1).map(String::as_str)
        }
        _ => None,
    }
}
