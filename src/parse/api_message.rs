//! The structure of messages of the chat APIs: where their calls and their text are.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::author::{self, PartAuthor};
use super::buffer::BufferState;
use super::certainty::Certainty;
use super::json_calls::{self, CallParts, CallShape};
use super::keys::{INNER_KEYS, KeyUse};
use super::lenient::{Repairs, SyntaxRepair};
use super::options::ParseOptions;
use super::parsed::{Draft, ParsedCall, ParsedText};
use super::schemas::ToolSchemas;
use super::stream::parse;
use toolhub_text::has_word;

/// The error of a call that may lack its end, because the answer does.
const CUT_ANSWER: &str = "the answer was cut off before its end";

/// Keys that hold the parts of a message or response.
const PART_KEYS: &[&str] = &["content", "choices", "candidates", "message", "output", "parts"];
/// Keys of parts that hold the call itself.
const CALL_HOLDERS: &[&str] = &["functionCall", "function_call", "function"];
/// Types of blocks that stand beside those of calls.
const BLOCKS: &str = "text output_text tool_use server_tool_use thinking redacted_thinking reasoning message";

/// What a JSON value is that a text consists of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageKind {
    Other,
    /// A message of the model, its blocks, or a response.
    Answer,
    /// Also, or only, messages to the model.
    Conversation,
}

/// Tells messages from other data.
pub(super) fn kind_of(value: &Value) -> MessageKind {
    match value {
        Value::Object(map) => {
            let has_parts = PART_KEYS.iter().any(|key| map.contains_key(*key));
            match author::author_of(map) {
                PartAuthor::Model => MessageKind::Answer,
                PartAuthor::Others => MessageKind::Conversation,
                PartAuthor::Unsaid if has_parts && !author::is_call(map) => MessageKind::Answer,
                PartAuthor::Unsaid => MessageKind::Other,
            }
        }
        Value::Array(items) if items.iter().all(Value::is_object) => {
            let is_block = |item: &Value| item["type"].as_str().is_some_and(|kind| has_word(BLOCKS, kind));
            let kinds = items.iter().map(|item| match kind_of(item) {
                MessageKind::Other if is_block(item) => MessageKind::Answer,
                kind => kind,
            });
            kinds.max().unwrap_or(MessageKind::Other)
        }
        _ => MessageKind::Other,
    }
}

/// What was found in a message.
pub(super) struct ApiMessage<'a> {
    pub drafts: Vec<Draft>,
    pub text: String,
    pub format: Option<&'static str>,
    /// The text is not the model's: it has no calls, whatever it says.
    pub is_of_others: bool,
    /// The answer was cut off, filtered or refused: its text may not say what the model meant.
    pub is_broken_off: bool,
    tools: &'a dyn ToolSchemas,
    /// The call that nothing follows so far.
    last: Option<LastCall<'a>>,
}

/// A call that is the last part of what was read.
struct LastCall<'a> {
    given: &'a Map<String, Value>,
    /// Its arguments are a text, so their end is seen.
    is_closed: bool,
}

impl<'a> ApiMessage<'a> {
    pub fn new(value: &'a Value, tools: &'a dyn ToolSchemas) -> Self {
        let (drafts, text) = (Vec::new(), String::new());
        let (format, is_of_others, is_broken_off) = (None, false, false);
        let mut found = Self { drafts, text, format, is_of_others, is_broken_off, tools, last: None };
        let last = match value {
            Value::Array(items) if author::said_now(items).is_empty() => items.last(),
            Value::Object(map) if author::author_of(map) == PartAuthor::Others => Some(value),
            _ => {
                found.message(value);
                return found;
            }
        };
        found.is_of_others = true;
        found.words_of_others(last.unwrap_or(&Value::Null));
        found
    }

    fn words_of_others(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text.push_str(text),
            Value::Array(items) => items.iter().for_each(|item| self.words_of_others(item)),
            Value::Object(map) => {
                let parts = ["text", "content", "parts"].into_iter().filter_map(|key| map.get(key));
                parts.for_each(|part| self.words_of_others(part));
            }
            _ => {}
        }
    }

    /// Anything that holds messages or parts of a message.
    fn message(&mut self, value: &'a Value) {
        match value {
            Value::String(text) => self.say(text),
            Value::Array(items) => author::said_now(items).iter().for_each(|item| self.message(item)),
            Value::Object(map) if author::author_of(map) != PartAuthor::Others => self.part(map),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.text.push_str(text);
        self.last = self.last.take().filter(|_| text.is_empty());
    }

    fn part(&mut self, map: &'a Map<String, Value>) {
        let before = self.drafts.len();
        self.object(map);
        let goes_on = author::goes_on(map);
        let was_cut = goes_on || author::was_cut(map);
        self.is_broken_off |= was_cut || author::declines(map);
        if self.drafts.len() > before && was_cut {
            // A call that says so of itself lacks its end, whatever its arguments look like.
            let is_call = goes_on || author::is_call(map);
            self.last.iter_mut().for_each(|last| last.is_closed &= !is_call);
            self.cut_last();
        }
    }

    /// Of an answer that was cut, the last call may lack arguments that nobody sees missing.
    fn cut_last(&mut self) {
        let last = self.last.take().filter(|last| !last.is_closed);
        if let (Some(last), Some(draft)) = (last, self.drafts.last_mut())
            && draft.error.is_none()
        {
            draft.fail(CUT_ANSWER);
            draft.raw = serde_json::to_string(last.given).ok();
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>) {
        let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "tool_use" => return self.call(map, "anthropic"),
            "function_call" => return self.call(map, "openai_responses"),
            "custom_tool_call" => return self.custom_call(map, "openai_responses"),
            // The API has already executed it, or has its result.
            kind if is_hosted(kind) => return self.last = None,
            "custom" if map.get("custom").is_some_and(Value::is_object) => {
                return self.custom_call(map, "openai");
            }
            "text" | "output_text" => {
                return self.say(map.get("text").and_then(Value::as_str).unwrap_or_default());
            }
            "thinking" | "reasoning" | "redacted_thinking" => return self.last = None,
            _ if map.get("thought") == Some(&Value::Bool(true)) => return self.last = None,
            _ => {}
        }
        let before = self.drafts.len();
        if CALL_HOLDERS.iter().any(|key| map.get(*key).is_some_and(Value::is_object)) {
            // Gemini's SDK uses the key of OpenAI's old API; only OpenAI has `arguments` in it.
            let is_old = map.get("function_call").is_some_and(|call| call.get("arguments").is_some());
            let is_openai = is_old || map.contains_key("function");
            self.call(map, if is_openai { "openai" } else { "gemini" });
        } else if kind.is_empty() && !map.contains_key("role") {
            map.get("text").into_iter().for_each(|text| self.message(text));
        }
        let held = self.drafts.len() - before;
        // Of several alternatives the first one counts.
        let first = |key: &str| map.get(key).and_then(Value::as_array).and_then(|all| all.first());
        let alternatives = ["choices", "candidates"].into_iter().filter_map(first);
        let parts = ["message", "output", "content", "parts"].into_iter().filter_map(|key| map.get(key));
        alternatives.chain(parts).for_each(|part| self.message(part));
        for call in map.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let before = self.drafts.len();
            self.message(call);
            if self.drafts.len() == before && !call.is_null() {
                self.format.get_or_insert("openai");
                let why = "A tool call must be an object with a function.";
                let id = call.as_object().map(|call| CallParts::of(call.clone()).id()).unwrap_or_default();
                self.add([Draft { id, ..Draft::failed("", why) }], call);
            }
        }
        self.compare_held(before, held);
    }

    /// A message may have one call both in a key of its own and in its list. Two different calls contradict each other.
    fn compare_held(&mut self, from: usize, held: usize) {
        let (one, listed) = self.drafts[from..].split_at_mut(held);
        let ([one], [_, ..]) = (&mut *one, &*listed) else { return };
        if listed.iter().any(|call| call.is_same(one)) {
            self.drafts.remove(from);
            return;
        }
        for draft in &mut self.drafts[from..] {
            draft.fail("the message has another one beside its list of calls");
        }
    }

    fn add(&mut self, drafts: impl IntoIterator<Item = Draft>, value: &impl Serialize) {
        for mut draft in drafts {
            let failed = draft.error.is_some();
            draft.raw = failed.then(|| serde_json::to_string(value).unwrap_or_default());
            self.drafts.push(draft);
        }
    }

    /// A call of a custom tool: its input is a text, which is the argument of a tool that takes one.
    fn custom_call(&mut self, given: &'a Map<String, Value>, format: &'static str) {
        let mut parts = CallParts::of(given.clone());
        let input = parts.arguments.take().map(|said| said.value).unwrap_or_default();
        let name = parts.name();
        let schema = self.tools.parameters(name);
        let arguments = match schema.and_then(only_parameter).filter(|_| input.is_string()) {
            Some(parameter) => Map::from_iter([(parameter.to_owned(), input)]).into(),
            None => input,
        };
        let draft = match parts.fault.clone() {
            Some(why) => Draft::unreadable(name, why),
            None => Draft::new(name, Ok(arguments), Repairs::default()),
        };
        let repairs = draft.repairs.without(&[SyntaxRepair::ArgumentsAsString]);
        self.format.get_or_insert(format);
        self.add([Draft { id: parts.id(), repairs, is_custom: true, ..draft }], given);
        self.last = Some(LastCall { given, is_closed: false });
    }

    fn call(&mut self, given: &'a Map<String, Value>, format: &'static str) {
        // A message has more than its call: its own name, for one.
        let is_message = given.contains_key("role") || PART_KEYS.iter().any(|key| given.contains_key(*key));
        let is_part = |(key, _): &(&String, &Value)| !is_message || INNER_KEYS.contains(&key.as_str());
        let parts = given.iter().filter(is_part).map(|(key, value)| (key.clone(), value.clone()));
        let drafts = json_calls::calls(
            Value::Object(parts.collect()),
            Repairs::default(),
            CallShape::Issued,
            self.tools,
        );
        self.format.get_or_insert(format);
        let drafts = drafts.unwrap_or_default();
        let is_closed = drafts.iter().any(|draft| draft.repairs.has(SyntaxRepair::ArgumentsAsString));
        // Structures and text for arguments are the API's own form.
        let own = [SyntaxRepair::NestedShape, SyntaxRepair::ArgumentsAsString];
        let drafts = drafts.into_iter().map(|draft| Draft { repairs: draft.repairs.without(&own), ..draft });
        self.add(drafts, given);
        self.last = Some(LastCall { given, is_closed });
    }
}

/// True for blocks of tools that the API runs itself: their calls and their results.
fn is_hosted(kind: &str) -> bool {
    let is_call = kind.ends_with("_call") && kind != "tool_call";
    is_call || kind.ends_with("_tool_result") || matches!(kind, "server_tool_use" | "mcp_tool_use")
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

/// Finds the calls in a message, a response or a list of blocks of OpenAI (chat and responses), Anthropic or Gemini.
///
/// A message without such calls is read as text, which comes second: spans count in it. What others wrote has no calls, nor has
/// what was answered: see `turn`. Calls in the text of an answer that was cut off or refused are not sure. The spans of a structure
/// are `(0, 0)`: there is no text to point at.
pub fn parse_value(value: &Value, options: &ParseOptions) -> (ParsedText, Option<String>) {
    let found = ApiMessage::new(value, &*options.tools);
    if found.is_of_others {
        return (ParsedText { calls: Vec::new(), text: found.text, format: options.openings.asked }, None);
    }
    if found.drafts.is_empty() {
        let mut parsed = parse(&found.text, options);
        if found.is_broken_off {
            for call in &mut parsed.calls {
                call.certainty = call.certainty.min(Some(Certainty::Likely));
            }
        }
        return (parsed, Some(found.text));
    }
    let mut state = BufferState::default();
    state.emit_issued(found.drafts, found.format.unwrap_or("openai"));
    (ParsedText { calls: state.take_calls(), text: found.text, format: found.format }, None)
}

/// The text of a message of the model, of its blocks, or of a response, without its thoughts; `None` for other data.
pub fn message_text(value: &Value) -> Option<String> {
    let blocks = match value {
        // Texts may stand between the blocks.
        Value::Array(items) => {
            let blocks: Vec<_> = items.iter().filter(|item| !item.is_string()).cloned().collect();
            kind_of(&Value::Array(blocks))
        }
        _ => kind_of(value),
    };
    (blocks == MessageKind::Answer).then(|| ApiMessage::new(value, &HashMap::<String, Value>::new()).text)
}

/// The calls in an object that stands for calls and for nothing else, in any shape that models and APIs give them.
pub fn parse_request(value: Value, options: &ParseOptions) -> Vec<ParsedCall> {
    let drafts = json_calls::calls(value, Repairs::default(), CallShape::Issued, &*options.tools);
    let mut state = BufferState::default();
    state.emit(drafts.unwrap_or_default(), 0);
    state.take_calls()
}

/// Whether a request is in our own form: it has its name and its arguments under one of our keys each, no other key of calls, and
/// nothing beside them that the arguments have, too.
pub fn is_own_request<'a>(keys: impl Iterator<Item = &'a str>, is_argument: impl Fn(&str) -> bool) -> bool {
    const OWN_KEYS: &[&str] = &["name", "tool_name", "arguments", "parameters", "args", "id"];
    let (mut names, mut arguments) = (0, 0);
    for key in keys {
        let kind = KeyUse::of(key, || true, true).0;
        names += usize::from(kind == KeyUse::Name);
        arguments += usize::from(kind == KeyUse::Arguments);
        let is_own = match kind {
            KeyUse::Other => !is_argument(key),
            KeyUse::About | KeyUse::Source => true,
            _ => OWN_KEYS.contains(&key),
        };
        if !is_own {
            return false;
        }
    }
    names == 1 && arguments <= 1
}
