//! The text of an answer while the model writes it.
//!
//! The caller pulls, so a slow reader slows the server down instead of filling a queue. Dropping the stream closes the
//! connection, which tells the server to stop.

use std::fmt;
use std::sync::Arc;

use reqwest::Response;
use serde_json::Value;

use super::answer::{content_text, text_field};
use super::deadline::ChatDeadline;
use super::refusal::error_object;
use super::transport::ChatTransport;
use crate::error::{ErrorKind, HubError};
use crate::sse::{SseEvent, SseParser};

/// The largest single event. Chunks have some hundred bytes; log probabilities may make them larger.
const MAX_EVENT: usize = 1024 * 1024;

/// The stream of one answer. Made by [`OpenAi::stream`](super::OpenAi::stream).
pub struct ChatStream {
    transport: Arc<ChatTransport>,
    deadline: ChatDeadline,
    /// `None` once there is nothing more to read; the connection is closed then.
    reader: Option<AnswerReader>,
    pending: Option<String>,
}

impl ChatStream {
    pub(crate) fn new(transport: Arc<ChatTransport>, deadline: ChatDeadline, response: Response) -> Self {
        let parser = SseParser::new(MAX_EVENT);
        let reader = AnswerReader { response, parser, size: 0, is_finished: false, ended: None };
        Self { transport, deadline, reader: Some(reader), pending: None }
    }

    /// The stream of a server that cannot stream: its whole answer as one text.
    pub(crate) fn of_answer(transport: Arc<ChatTransport>, deadline: ChatDeadline, text: String) -> Self {
        Self { transport, deadline, reader: None, pending: Some(text) }
    }

    /// The next text, empty for a chunk without one (a role, reasoning, tool calls, usage). `None` after the last one, or
    /// after an error. The future may be dropped and `next` called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<String, HubError>> {
        if let Some(text) = self.pending.take() {
            return Some(Ok(text));
        }
        let stepped = self.reader.as_mut()?.step(&self.transport, self.deadline).await;
        if !matches!(stepped, Ok(Some(_))) {
            self.reader = None;
        }
        stepped.transpose()
    }
}

impl fmt::Debug for ChatStream {
    /// By hand: the response would show its URL, and a query may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream")
            .field("origin", &self.transport.endpoint.origin)
            .field("ended", &self.reader.is_none())
            .finish_non_exhaustive()
    }
}

/// The open connection and its state.
struct AnswerReader {
    response: Response,
    parser: SseParser,
    /// The bytes of text so far.
    size: usize,
    /// The model gave a reason for stopping, so nothing is missing.
    is_finished: bool,
    /// How the bytes ended: as HTTP says, or for this reason.
    ended: Option<Result<(), String>>,
}

impl AnswerReader {
    /// Reads up to the next chunk; `None` when the answer is complete.
    async fn step(
        &mut self,
        transport: &ChatTransport,
        deadline: ChatDeadline,
    ) -> Result<Option<String>, HubError> {
        loop {
            if let Some(event) = self.parser.next_event() {
                return self.take(transport, &event);
            }
            if let Some(end) = self.ended.take() {
                return self.close(transport, end);
            }
            match deadline.run(self.response.chunk()).await {
                Err(_) => return Err(transport.expired()),
                Ok(Ok(Some(bytes))) => {
                    self.parser.feed(&bytes).map_err(|large| transport.too_large(&large.to_string()))?
                }
                Ok(Ok(None)) => self.ended = Some(Ok(())),
                Ok(Err(error)) => self.ended = Some(Err(transport.cause(&error))),
            }
        }
    }

    /// The text of one event; `None` for the event that ends the stream.
    fn take(&mut self, transport: &ChatTransport, event: &SseEvent) -> Result<Option<String>, HubError> {
        if event.data.trim() == "[DONE]" {
            return Ok(None);
        }
        let status = self.response.status().as_u16();
        let raw: Value = serde_json::from_str(&event.data).map_err(|_| {
            let quoted = transport.endpoint.redactor.quote(&event.data);
            transport.invalid(&format!("streamed an event that is not JSON: {quoted}"))
        })?;
        match raw.get("error") {
            Some(error) if !error.is_null() => {
                return Err(error_object(&transport.endpoint, status, error));
            }
            _ if event.name == "error" => return Err(error_object(&transport.endpoint, status, &raw)),
            _ => {}
        }
        let (text, is_finished) = chunk_text(&raw).map_err(|wrong| transport.wrong_shape(wrong))?;
        self.is_finished |= is_finished;
        self.size = self.size.saturating_add(text.len());
        if self.size > transport.config.max_body {
            let limit = transport.config.max_body;
            return Err(transport.too_large(&format!("the answer has more than {limit} bytes")));
        }
        Ok(Some(text))
    }

    /// The bytes are over. That is fine after the model gave a reason for stopping; otherwise something is missing.
    fn close(
        &mut self,
        transport: &ChatTransport,
        end: Result<(), String>,
    ) -> Result<Option<String>, HubError> {
        let why = match end {
            Ok(()) => "the server closed it".to_owned(),
            Err(why) => why,
        };
        let last = self.parser.finish().map_err(|large| transport.too_large(&large.to_string()))?;
        if let Some(event) = last {
            match self.take(transport, &event) {
                Ok(Some(text)) => {
                    self.ended = Some(Err(why));
                    return Ok(Some(text));
                }
                Ok(None) => return Ok(None),
                // A stream that broke off ends with half an event.
                Err(error) if error.kind == ErrorKind::Protocol => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_finished {
            return Ok(None);
        }
        let message = format!(
            "The stream of the model endpoint {} broke off before the answer was complete: {why}.",
            transport.endpoint.origin
        );
        let status = Some(self.response.status().as_u16());
        Err(HubError { status, ..HubError::new(ErrorKind::Closed, message) })
    }
}

/// The text of a chunk's first choice, and whether the model gave a reason for stopping. The error says what is wrong.
fn chunk_text(chunk: &Value) -> Result<(String, bool), &'static str> {
    let choices = match chunk.as_object().ok_or("it is not an object")?.get("choices") {
        // A chunk with the usage only.
        None | Some(Value::Null) => return Ok((String::new(), false)),
        Some(choices) => choices.as_array().ok_or("its `choices` are not a list")?,
    };
    let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
    let Some(choice) = choices.iter().find(is_first) else { return Ok((String::new(), false)) };
    let text = match choice.get("delta") {
        Some(Value::Object(delta)) => content_text(delta.get("content"))
            .ok_or("the `content` of its delta is neither text, null nor a list of parts")?,
        None | Some(Value::Null) => String::new(),
        Some(_) => return Err("its `delta` is not an object"),
    };
    Ok((text, text_field(choice, "finish_reason").is_some()))
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
            assert_eq!(chunk_text(&chunk), Ok((text.to_owned(), is_finished)), "{chunk}");
        }
    }

    #[test]
    fn a_wrong_shape_is_an_error() {
        for chunk in [
            json!(1),
            json!({"choices": 1}),
            json!({"choices": [{"delta": "x"}]}),
            json!({"choices": [{"delta": {"content": 1}}]}),
        ] {
            assert!(chunk_text(&chunk).is_err(), "{chunk}");
        }
    }
}
