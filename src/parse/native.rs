//! Messages of the chat APIs: their calls are in fields, so nothing has to be searched.

use serde_json::Value;
use std::collections::HashMap;

use super::api_message::{self, ApiMessage, MessageKind};
use super::buffer::InputBuffer;
use super::certainty::Certainty;
use super::json_calls::{self, CallShape};
use super::keys::KeyUse;
use super::lenient::Repairs;
use super::options::ParseOptions;
use super::parsed::{ParsedCall, ParsedText};
use super::stream::parse;

/// Finds the calls in a message, a response or a list of blocks of OpenAI (chat and responses), Anthropic or Gemini.
///
/// A message without such calls is read as text, which comes second: spans count in it. What others wrote has no calls, nor has
/// what was answered: see `turn`. Calls in the text of an answer that was cut off or refused are not sure. The spans of a structure
/// are `(0, 0)`: there is no text to point at.
pub fn parse_value(value: &Value, options: &ParseOptions) -> (ParsedText, Option<String>) {
    let found = ApiMessage::new(value, &*options.tools);
    if found.is_of_others {
        let format = options.openings.asked.map(str::to_owned);
        return (ParsedText { calls: Vec::new(), text: found.text, format }, None);
    }
    if found.drafts.is_empty() {
        let mut parsed = parse(&found.text, options);
        if found.is_broken_off {
            parsed
                .calls
                .iter_mut()
                .for_each(|call| call.certainty = call.certainty.min(Some(Certainty::Likely)));
        }
        return (parsed, Some(found.text));
    }
    let input = InputBuffer::default();
    input.state().emit_issued(found.drafts, found.format.unwrap_or("openai"));
    let mut calls = input.state().take_calls();
    for (call, raw) in calls.iter_mut().zip(found.raw) {
        call.raw = raw;
    }
    (ParsedText { calls, text: found.text, format: found.format.map(str::to_owned) }, None)
}

/// The text of a message of the model, of its blocks, or of a response, without its thoughts; `None` for other data.
pub fn message_text(value: &Value) -> Option<String> {
    let blocks = match value {
        // Texts may stand between the blocks.
        Value::Array(items) => {
            let blocks: Vec<_> = items.iter().filter(|item| !item.is_string()).cloned().collect();
            api_message::kind_of(&Value::Array(blocks))
        }
        _ => api_message::kind_of(value),
    };
    (blocks == MessageKind::Answer).then(|| ApiMessage::new(value, &HashMap::<String, Value>::new()).text)
}

/// The calls in an object that stands for calls and for nothing else, in any shape that models and APIs give them.
pub fn parse_request(value: Value, options: &ParseOptions) -> Vec<ParsedCall> {
    let drafts = json_calls::calls(value, Repairs::default(), CallShape::Issued, &*options.tools);
    let input = InputBuffer::default();
    input.emit(drafts.unwrap_or_default(), 0, "openai");
    input.state().take_calls()
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
