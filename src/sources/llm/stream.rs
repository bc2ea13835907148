//! The text of an answer while the model writes it.
//!
//! The caller pulls, so a slow reader slows the server down instead of filling a queue. Dropping the stream closes the
//! connection, which tells the server to stop.

use super::endpoint::ChatEndpoint;
use reqwest::Response;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};
use toolhub_protocol::sse::{SseItem, SseParser};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result};

/// The largest single event. Chunks have some hundred bytes; log probabilities may make them larger.
const MAX_EVENT: usize = 1024 * 1024;

/// The stream of one answer. Made by [`OpenAi::stream`](super::OpenAi::stream).
pub struct ChatStream {
    /// `None` once there is nothing more to read; the connection is closed then.
    reader: Option<AnswerReader>,
    pending: Option<String>,
}

impl ChatStream {
    pub(super) fn new(endpoint: Arc<ChatEndpoint>, deadline: Instant, response: Response) -> Self {
        let reader = AnswerReader {
            endpoint,
            deadline,
            response,
            parser: SseParser::new(MAX_EVENT),
            size: 0,
            is_finished: false,
            is_refused: false,
            ended: None,
        };
        Self { reader: Some(reader), pending: None }
    }

    /// The stream of a server that cannot stream: its whole answer as one text.
    pub(super) fn of_answer(text: String) -> Self {
        Self { reader: None, pending: Some(text) }
    }

    /// The next text, empty for a chunk without one (a role, reasoning, tool calls, usage). `None` after the last one, or
    /// after an error. The future may be dropped and `next` called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<String>> {
        if let Some(text) = self.pending.take() {
            return Some(Ok(text));
        }
        let stepped = self.reader.as_mut()?.step().await;
        if !matches!(stepped, Ok(Some(_))) {
            self.reader = None;
        }
        stepped.transpose()
    }
}

/// The open connection and its state.
struct AnswerReader {
    endpoint: Arc<ChatEndpoint>,
    deadline: Instant,
    response: Response,
    parser: SseParser,
    /// The bytes of text so far.
    size: usize,
    /// The model gave a reason for stopping, so nothing is missing.
    is_finished: bool,
    /// The model has begun to say why it refuses.
    is_refused: bool,
    /// Why the bytes ended.
    ended: Option<Message>,
}

impl AnswerReader {
    /// Reads up to the next chunk; `None` when the answer is complete.
    async fn step(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(item) = self.parser.next_item() {
                match self.take(item) {
                    // A stream that broke off ends with half an event.
                    Err(error) if self.ended.is_some() && error.kind == ErrorKind::Protocol => {}
                    taken => return taken,
                }
            }
            if let Some(why) = &self.ended {
                return if self.is_finished { Ok(None) } else { Err(self.broke_off(why)) };
            }
            let chunk = async {
                // A server that always has another chunk ready must not delay the timeout.
                consume_budget().await;
                self.response.chunk().await
            };
            match timeout_at(self.deadline, chunk).await {
                Err(_) => return Err(self.endpoint.expired()),
                Ok(Ok(Some(bytes))) => self.parser.feed(&bytes),
                Ok(Ok(None)) => self.end("the server closed it".into()),
                Ok(Err(error)) => self.end(self.endpoint.cause(&error).into()),
            }
        }
    }

    /// The text of one event; `None` for the event that ends the stream.
    fn take(&mut self, item: SseItem) -> Result<Option<String>> {
        let Some(event) = item.whole() else {
            let text = format!("one event of the stream has more than {MAX_EVENT} bytes");
            return Err(self.endpoint.too_large(text.into()));
        };
        if event.data.trim() == "[DONE]" {
            return Ok(None);
        }
        let status = self.response.status().as_u16();
        let raw: Value = serde_json::from_str(&event.data).map_err(|_| {
            let quoted = self.endpoint.redactor.quote(&event.data);
            self.endpoint.invalid(format!("streamed an event that is not JSON: {quoted}"))
        })?;
        let error = raw.get("error").filter(|error| !error.is_null());
        if let Some(error) = error.or((event.name == "error").then_some(&raw)) {
            return Err(self.endpoint.error_object(status, error));
        }
        let chunk = read_chunk(&raw).map_err(|wrong| self.endpoint.wrong_shape(wrong))?;
        self.is_finished |= chunk.finish_reason.is_some();
        // Words of an answer that the model gave up stay apart from those with which it refuses.
        let begins = !chunk.refusal.is_empty() && !self.is_refused && self.size > 0;
        self.is_refused |= !chunk.refusal.is_empty();
        let text = format!("{}{}{}", chunk.text, if begins { "\n\n" } else { "" }, chunk.refusal);
        self.size = self.size.saturating_add(text.len());
        if self.size > self.endpoint.config.max_body {
            let limit = self.endpoint.config.max_body;
            return Err(self.endpoint.too_large(message!("the answer has more than {} bytes", limit)));
        }
        Ok(Some(text))
    }

    /// The bytes are over, but perhaps not the events in them.
    fn end(&mut self, why: Message) {
        self.parser.finish();
        self.ended = Some(why);
    }

    /// The model gave no reason for stopping, so something is missing.
    fn broke_off(&self, why: &Message) -> HubError {
        let message = message!(
            "The stream from the model endpoint {} broke off before the answer was complete: {}.",
            self.endpoint.origin,
            why
        );
        let status = Some(self.response.status().as_u16());
        HubError { status, ..HubError::new(ErrorKind::Closed, message) }
    }
}

/// What a choice says: in the `message` of an answer, or bit by bit in the `delta` of each chunk.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    text: String,
    /// Why the model refuses, in a field of its own.
    refusal: String,
    finish_reason: Option<String>,
}

impl Said {
    fn read(choice: &Value, said: &Value) -> Result<Self, &'static str> {
        Ok(Said {
            text: content_text(said.get("content"))
                .ok_or("the `content` of its first choice is neither text, null nor a list of parts")?,
            refusal: text_field(said, "refusal").unwrap_or_default(),
            finish_reason: text_field(choice, "finish_reason"),
        })
    }
}

/// Reads a chunk. The error says what is wrong.
fn read_chunk(chunk: &Value) -> Result<Said, &'static str> {
    let choices = match chunk.as_object().ok_or("it is not an object")?.get("choices") {
        // A chunk with the usage only.
        None | Some(Value::Null) => return Ok(Said::default()),
        Some(choices) => choices.as_array().ok_or("its `choices` are not a list")?,
    };
    let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
    let Some(choice) = choices.iter().find(is_first) else { return Ok(Said::default()) };
    match choice.get("delta").unwrap_or(&Value::Null) {
        delta @ (Value::Object(_) | Value::Null) => Said::read(choice, delta),
        _ => Err("its `delta` is not an object"),
    }
}

// From the JSON of a chat completion to the text of the answer. Lenient in what it does not need:
// an odd `usage` loses the usage, not the answer.

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
        let said = Said::read(choice, message)?;
        Ok(Self {
            // A model that refuses leaves the content empty.
            text: if said.text.is_empty() { said.refusal } else { said.text },
            finish_reason: said.finish_reason,
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
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            Some(texts.collect())
        }
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

    #[test]
    fn the_text_is_that_of_the_first_choice() {
        for (chunk, text, is_finished) in [
            (json!({"choices": [{"delta": {"content": "4", "reasoning_content": "hm"}}]}), "4", false),
            (json!({"choices": [{"delta": {"content": [{"type": "text", "text": "2"}]}}]}), "2", false),
            (json!({"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}), "", false),
            (json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}), "", false),
            (json!({"choices": [{"delta": null, "finish_reason": "stop"}]}), "", true),
            (json!({"choices": [], "usage": {"total_tokens": 5}}), "", false),
            (json!({"usage": {"total_tokens": 5}}), "", false),
        ] {
            let finish_reason = is_finished.then(|| "stop".to_owned());
            let expected = Said { text: text.to_owned(), finish_reason, ..Said::default() };
            assert_eq!(read_chunk(&chunk), Ok(expected), "{chunk}");
        }
    }

    #[test]
    fn a_refusal_is_read_apart_from_the_text() {
        let chunk = json!({"choices": [{"delta": {"content": null, "refusal": "I cannot"}}]});
        assert_eq!(read_chunk(&chunk).map(|read| read.refusal).as_deref(), Ok("I cannot"));
        let none = json!({"choices": [{"delta": {"content": "4", "refusal": null}}]});
        assert_eq!(read_chunk(&none).map(|read| read.refusal).as_deref(), Ok(""));
    }

    #[test]
    fn a_wrong_shape_is_an_error() {
        for chunk in [
            json!(1),
            json!({"choices": 1}),
            json!({"choices": [{"delta": "x"}]}),
            json!({"choices": [{"delta": {"content": 1}}]}),
        ] {
            assert!(read_chunk(&chunk).is_err(), "{chunk}");
        }
    }
}

#[cfg(test)]
mod answer_tests {
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
