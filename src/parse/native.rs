//! Messages of the chat APIs: their calls are in fields, so nothing has to be searched.

use serde_json::Value;
use std::collections::HashMap;

use super::api_message::{self, ApiMessage, MessageKind};
use super::found::WholeText;
use super::input::InputBuffer;
use super::json_calls::{self, CallShape};
use super::keys::{ARGUMENT_KEYS, SAME_KEYS};
use super::options::ParseOptions;
use super::parsed::{ParsedCall, ParsedText};
use super::repair::Repairs;
use super::whole;

/// Finds the calls in a message, a response or a list of blocks of OpenAI (chat and responses), Anthropic or Gemini.
///
/// A message without such calls is read as text, which comes second: spans count in it. What others wrote has no calls, nor has
/// what was answered: see `turn`. The spans of a structure are `(0, 0)`: there is no text to point at.
pub fn parse_value(value: &Value, options: &ParseOptions) -> (ParsedText, Option<WholeText>) {
    let found = ApiMessage::new(value, &*options.tools);
    if found.is_of_others {
        let format = options.openings.asked.map(str::to_owned);
        return (ParsedText { calls: Vec::new(), text: found.text, format }, None);
    }
    if found.drafts.is_empty() {
        let text = WholeText::new(found.text);
        return (whole::find(text.clone(), options).into_parsed(), Some(text));
    }
    let input = InputBuffer::default();
    input.emit_issued(found.drafts, found.format.unwrap_or("openai"));
    let mut calls = input.take_calls();
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
    let json = value.as_object().and_then(api_message::arguments_text).map(str::to_owned);
    let drafts = json_calls::calls(value, Repairs::default(), CallShape::Marked, &*options.tools);
    let drafts =
        drafts.map(|drafts| drafts.into_iter().map(|draft| draft.unless_cut(json.as_deref())).collect());
    let input = InputBuffer::default();
    input.emit(drafts.unwrap_or_default(), 0, "openai");
    input.take_calls()
}

/// Whether a request has its arguments under a key that only models and APIs use, or two keys for one thing.
pub fn has_foreign_keys(has: impl Fn(&str) -> bool) -> bool {
    let (ours, foreign) = ARGUMENT_KEYS.split_at(3);
    let is_twice = |keys: &&[&str]| keys.iter().filter(|key| has(key)).count() > 1;
    SAME_KEYS.iter().any(is_twice) || !ours.iter().any(|key| has(key)) && foreign.iter().any(|key| has(key))
}
