//! The chunks of a stream put together to the completion object that a request without streaming returns.
//!
//! Generic on purpose: text fields of a delta (content, reasoning under its various names, refusals) grow,
//! tool calls are told apart by their index, anything else keeps its last value. Only the first choice counts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::answer::{ChatAnswer, content_text, text_field};

/// What a value costs at least, so that a million empty ones count too.
const VALUE_COST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// `id`, `model`, `usage` and whatever else stands beside the choices.
    head: Map<String, Value>,
    /// The growing texts of the message. `content` is in `text`.
    fields: Map<String, Value>,
    text: String,
    tool_calls: BTreeMap<u64, Map<String, Value>>,
    finish_reason: Option<String>,
    size: usize,
}

impl Assembly {
    /// Adds one chunk and returns the text that it brought. The error says what is wrong with it.
    pub(crate) fn add(&mut self, chunk: &Value) -> Result<String, &'static str> {
        let chunk = chunk.as_object().ok_or("it is not an object")?;
        for (name, value) in chunk {
            if name != "choices" && !value.is_null() {
                put(&mut self.head, name, value, &mut self.size);
            }
        }
        let choices = match chunk.get("choices") {
            // A chunk with the usage only.
            None | Some(Value::Null) => return Ok(String::new()),
            Some(choices) => choices.as_array().ok_or("its `choices` are not a list")?,
        };
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let Some(choice) = choices.iter().find(first) else {
            return Ok(String::new());
        };
        if let Some(reason) = text_field(choice, "finish_reason") {
            self.finish_reason = Some(reason);
        }
        match choice.get("delta") {
            Some(Value::Object(delta)) => self.add_delta(delta),
            None | Some(Value::Null) => Ok(String::new()),
            Some(_) => Err("its `delta` is not an object"),
        }
    }

    fn add_delta(&mut self, delta: &Map<String, Value>) -> Result<String, &'static str> {
        let text = content_text(delta.get("content"))
            .ok_or("the `content` of its delta is neither text, null nor a list of parts")?;
        self.text.push_str(&text);
        self.size += text.len();
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("content", _) | (_, Value::Null) => {}
                ("tool_calls", Value::Array(calls)) => {
                    for call in calls.iter().filter_map(Value::as_object) {
                        self.add_call(call);
                    }
                }
                _ => grow(&mut self.fields, name, value, &mut self.size),
            }
        }
        Ok(text)
    }

    fn add_call(&mut self, call: &Map<String, Value>) {
        let index = call.get("index").and_then(Value::as_u64).unwrap_or(0);
        let known = self.tool_calls.entry(index).or_default();
        for (name, value) in call {
            if name != "index" {
                grow(known, name, value, &mut self.size);
            }
        }
    }

    /// About how many bytes are kept.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The model has said why it stopped, so nothing is missing.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    pub(crate) fn into_answer(self) -> Result<ChatAnswer, String> {
        let mut message = self.fields;
        message.insert("content".into(), Value::String(self.text));
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.into_values().map(Value::Object).collect();
            message.insert("tool_calls".into(), Value::Array(calls));
        }
        let mut raw = self.head;
        raw.insert(
            "choices".into(),
            json!([{"index": 0, "message": message, "finish_reason": self.finish_reason}]),
        );
        ChatAnswer::from_raw(Value::Object(raw))
    }
}

/// Adds `value` to the field: text is appended, objects field by field, anything else replaces. Names that
/// identify are repeated by some servers, so they are not appended.
fn grow(fields: &mut Map<String, Value>, name: &str, value: &Value, size: &mut usize) {
    let identifies = matches!(name, "role" | "id" | "type" | "name");
    match (fields.get_mut(name), value) {
        (_, Value::Null) => {}
        (Some(Value::String(_)), Value::String(new)) if identifies && new.is_empty() => {}
        (Some(Value::String(known)), Value::String(new)) if !identifies => {
            known.push_str(new);
            *size += new.len();
        }
        (Some(Value::Object(known)), Value::Object(new)) => {
            for (inner, value) in new {
                grow(known, inner, value, size);
            }
        }
        _ => put(fields, name, value, size),
    }
}

/// Sets a field and keeps the books.
fn put(fields: &mut Map<String, Value>, name: &str, value: &Value, size: &mut usize) {
    *size += name.len() + weight(value);
    if let Some(old) = fields.insert(name.to_owned(), value.clone()) {
        *size = size.saturating_sub(name.len() + weight(&old));
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    VALUE_COST
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(fields) => fields.iter().map(|(n, v)| n.len() + weight(v)).sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(deltas: &[Value]) -> ChatAnswer {
        let mut assembly = Assembly::default();
        for delta in deltas {
            assembly.add(&json!({"model": "m", "choices": [{"index": 0, "delta": delta}]})).unwrap();
        }
        assembly.into_answer().unwrap()
    }

    #[test]
    fn texts_grow_and_reasoning_stays_apart() {
        let answer = assemble(&[
            json!({"role": "assistant", "content": null, "reasoning_content": "let "}),
            json!({"reasoning_content": "me"}),
            json!({"content": "4"}),
            json!({"content": [{"type": "text", "text": "2"}]}),
        ]);
        assert_eq!(answer.text, "42");
        assert_eq!(
            answer.raw["choices"][0]["message"],
            json!({"role": "assistant", "reasoning_content": "let me", "content": "42"})
        );
    }

    #[test]
    fn tool_calls_are_told_apart_by_index() {
        let answer = assemble(&[
            json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "sub", "arguments": "{}"}}]}),
            json!({"tool_calls": [{"index": 0, "id": "", "type": "function", "function": {"arguments": "{\"x\":"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"name": null, "arguments": "1}"}}]}),
        ]);
        assert_eq!(
            answer.raw["choices"][0]["message"]["tool_calls"],
            json!([
                {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1}"}},
                {"id": "b", "type": "function", "function": {"name": "sub", "arguments": "{}"}},
            ])
        );
    }

    #[test]
    fn usage_comes_in_a_chunk_of_its_own_and_other_choices_are_left_out() {
        let mut assembly = Assembly::default();
        for chunk in [
            json!({"model": "m", "usage": null, "choices": [{"index": 1, "delta": {"content": "other"}}]}),
            json!({"model": "m", "choices": [{"index": 0, "delta": {"content": "this"}, "finish_reason": "stop"}]}),
            json!({"model": "m", "choices": [], "usage": {"total_tokens": 5}}),
        ] {
            assembly.add(&chunk).unwrap();
        }
        assert!(assembly.is_finished());
        let answer = assembly.into_answer().unwrap();
        assert_eq!(answer.text, "this");
        assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
        assert_eq!(answer.usage.and_then(|u| u.total_tokens), Some(5));
    }

    #[test]
    fn a_wrong_shape_is_an_error() {
        for chunk in [
            json!(1),
            json!({"choices": 1}),
            json!({"choices": [{"delta": "x"}]}),
            json!({"choices": [{"delta": {"content": 1}}]}),
        ] {
            assert!(Assembly::default().add(&chunk).is_err(), "{chunk}");
        }
    }

    #[test]
    fn all_that_is_kept_is_counted() {
        let mut assembly = Assembly::default();
        for delta in [
            json!({"content": "12"}),
            json!({"reasoning": "34"}),
            json!({"reasoning": "56"}),
            json!({"tool_calls": [{"index": 1, "function": {"arguments": "78"}}]}),
            json!({"tool_calls": [{"index": 1, "function": {"arguments": "90"}}]}),
        ] {
            let size = assembly.size();
            assembly.add(&json!({"choices": [{"delta": delta}]})).unwrap();
            assert!(assembly.size() >= size + 2, "{delta}");
        }
        let size = assembly.size();
        let odd = json!({"choices": [], "odd": {"list": ["x".repeat(1000)]}});
        assembly.add(&odd).unwrap();
        assert!(assembly.size() >= size + 1000);
        let size = assembly.size();
        assembly.add(&odd).unwrap();
        assert_eq!(assembly.size(), size, "what is replaced is not counted twice");
    }
}
