//! From the JSON of a chat completion to the text of the answer. Lenient in what it does not need:
//! an odd `usage` loses the usage, not the answer.

use serde::Serialize;
use serde_json::Value;

/// A whole answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChatAnswer {
    /// The text of the first choice, empty when the model only called tools. Reasoning is not part of it.
    pub text: String,
    pub finish_reason: Option<String>,
    pub usage: Option<Usage>,
    /// The model that answered, as the server names it.
    pub model: Option<String>,
    /// The completion object with all that is not read here: tool calls, reasoning, log probabilities.
    /// For a stream it is put together from the chunks.
    pub raw: Value,
}

/// Tokens, as counted by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Usage {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

impl ChatAnswer {
    /// Reads a completion object. The error says what is missing, as the end of a sentence.
    pub(super) fn from_raw(raw: Value) -> Result<Self, &'static str> {
        let choice = raw
            .get("choices")
            .and_then(Value::as_array)
            .ok_or("it has no list of `choices`")?
            .first()
            .ok_or("its list of `choices` is empty")?;
        let message =
            choice.get("message").filter(|m| m.is_object()).ok_or("its first choice has no `message`")?;
        let text = content_text(message.get("content"))
            .ok_or("the `content` of its message is neither text, null nor a list of parts")?;
        // A model that refuses says why in a field of its own, and leaves the content empty.
        let refusal = text_field(message, "refusal").filter(|_| text.is_empty());
        Ok(Self {
            text: refusal.unwrap_or(text),
            finish_reason: text_field(choice, "finish_reason"),
            usage: raw.get("usage").and_then(Usage::read),
            model: text_field(&raw, "model"),
            raw,
        })
    }
}

impl Usage {
    fn read(value: &Value) -> Option<Self> {
        let count = |name| value.get(name).and_then(Value::as_u64);
        value.is_object().then(|| Self {
            prompt_tokens: count("prompt_tokens"),
            completion_tokens: count("completion_tokens"),
            total_tokens: count("total_tokens"),
        })
    }
}

/// The text of a `content`: a string, nothing, or a list of parts of which the text parts count.
pub(super) fn content_text(content: Option<&Value>) -> Option<String> {
    match content {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => Some(
            parts
                .iter()
                .filter_map(|part| match part {
                    Value::String(text) => Some(text.as_str()),
                    _ => part.get("text").and_then(Value::as_str),
                })
                .collect(),
        ),
        Some(_) => None,
    }
}

pub(super) fn text_field(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(content: Value) -> Result<ChatAnswer, &'static str> {
        ChatAnswer::from_raw(json!({"choices": [{"message": {"content": content}}]}))
    }

    #[test]
    fn content_may_be_text_null_or_parts() {
        assert_eq!(answer(json!("hi")).unwrap().text, "hi");
        assert_eq!(answer(Value::Null).unwrap().text, "");
        let parts =
            json!([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"type": "text", "text": "c"}]);
        assert_eq!(answer(parts).unwrap().text, "abc");
        assert!(answer(json!(3)).unwrap_err().contains("content"));
    }

    #[test]
    fn a_refusal_is_the_text_of_an_answer_without_content() {
        let refused = |content: Value| {
            let message = json!({"content": content, "refusal": "I cannot help with that."});
            ChatAnswer::from_raw(json!({"choices": [{"message": message}]})).unwrap().text
        };
        assert_eq!(refused(Value::Null), "I cannot help with that.");
        assert_eq!(refused(json!("But here is a hint.")), "But here is a hint.");
    }

    #[test]
    fn reasoning_and_tool_calls_stay_in_raw() {
        let raw = json!({
            "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": "odd"},
            "choices": [{"finish_reason": "tool_calls", "message": {
                "content": null, "reasoning_content": "hmm", "tool_calls": [{"id": "c1"}]}}],
        });
        let answer = ChatAnswer::from_raw(raw.clone()).unwrap();
        assert_eq!(answer.text, "");
        assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.model.as_deref(), Some("m"));
        assert_eq!(answer.usage, Some(Usage { prompt_tokens: Some(3), ..Usage::default() }));
        assert_eq!(answer.raw, raw);
    }

    #[test]
    fn a_wrong_shape_says_what_is_missing() {
        for (raw, word) in [
            (json!({}), "no list of `choices`"),
            (json!([]), "no list of `choices`"),
            (json!({"choices": []}), "empty"),
            (json!({"choices": [{"text": "legacy"}]}), "no `message`"),
        ] {
            assert!(ChatAnswer::from_raw(raw).unwrap_err().contains(word));
        }
    }
}
