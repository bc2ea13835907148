//! An answer while it is being written: deltas as they come, the whole answer at the end.
//!
//! The caller pulls, so a slow reader slows the server down instead of filling a queue, and dropping the
//! stream closes the connection, which is how a server learns that nobody listens any more.

use std::fmt;
use std::sync::Arc;

use reqwest::Response;
use serde_json::Value;

use super::answer::ChatAnswer;
use super::assembly::Assembly;
use super::budget::{Budget, Stop};
use super::error::{LlmError, LlmErrorKind};
use super::refusal::error_object;
use super::transport::ChatTransport;
use crate::sse::{SseEvent, SseParser};

/// The largest single event. Chunks have some hundred bytes; log probabilities may make them larger.
const MAX_EVENT: usize = 1024 * 1024;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatDelta {
    /// The new text; empty for chunks with a role, reasoning, tool calls or usage only.
    pub text: String,
    /// The chunk as it came.
    pub raw: Value,
}

/// The stream of one answer. Made by [`OpenAi::stream`](super::OpenAi::stream).
pub struct ChatStream {
    transport: Arc<ChatTransport>,
    budget: Budget,
    /// Gone once nothing more is to be read; the connection goes with it.
    reader: Option<AnswerReader>,
    pending: Option<ChatDelta>,
    end: Option<Result<ChatAnswer, LlmError>>,
}

impl ChatStream {
    pub(crate) fn new(transport: Arc<ChatTransport>, budget: Budget, response: Response) -> Self {
        let reader = AnswerReader {
            response,
            parser: SseParser::new(MAX_EVENT),
            assembly: Assembly::default(),
            ended: None,
        };
        Self { transport, budget, reader: Some(reader), pending: None, end: None }
    }

    /// The stream of a server that cannot stream: its whole answer as one delta.
    pub(crate) fn of_answer(transport: Arc<ChatTransport>, budget: Budget, answer: ChatAnswer) -> Self {
        let delta = ChatDelta { text: answer.text.clone(), raw: answer.raw.clone() };
        Self { transport, budget, reader: None, pending: Some(delta), end: Some(Ok(answer)) }
    }

    /// The next delta; `None` after the last one, or after an error. The future may be dropped and
    /// `next` called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<ChatDelta, LlmError>> {
        if let Some(delta) = self.pending.take() {
            return Some(Ok(delta));
        }
        let reader = self.reader.as_mut()?;
        let error = match reader.step(&self.transport, &self.budget).await {
            Ok(Some(delta)) => return Some(Ok(delta)),
            Ok(None) => None,
            Err(mut error) => {
                let partial = reader.assembly.text().to_owned();
                error.partial = Some(self.transport.endpoint.redactor.hide(partial));
                Some(error)
            }
        };
        let reader = self.reader.take()?;
        match error {
            Some(error) => {
                self.end = Some(Err(error.clone()));
                Some(Err(error))
            }
            None => {
                let answer = reader.assembly.into_answer();
                self.end = Some(answer.map_err(|wrong| self.transport.wrong_shape(&wrong)));
                None
            }
        }
    }

    /// Reads the rest and returns the whole answer, or the error that ended the stream.
    pub async fn finish(mut self) -> Result<ChatAnswer, LlmError> {
        loop {
            if let Some(end) = self.end.take() {
                return end;
            }
            self.next().await;
        }
    }
}

impl fmt::Debug for ChatStream {
    /// By hand: the response would show its URL, and a query may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream")
            .field("origin", &self.transport.endpoint.origin)
            .field("ended", &self.end.is_some())
            .finish_non_exhaustive()
    }
}

/// The open connection and what has come through it.
struct AnswerReader {
    response: Response,
    parser: SseParser,
    assembly: Assembly,
    /// How the bytes ended: as HTTP says, or for this reason.
    ended: Option<Result<(), String>>,
}

impl AnswerReader {
    /// Reads up to the next delta; `None` when the answer is complete.
    async fn step(
        &mut self,
        transport: &ChatTransport,
        budget: &Budget,
    ) -> Result<Option<ChatDelta>, LlmError> {
        // What has already come is not handed out to somebody who does not want it any more.
        if budget.is_cancelled() {
            return Err(transport.stopped(Stop::Cancelled));
        }
        loop {
            if let Some(event) = self.parser.next_event() {
                match self.take(transport, &event)? {
                    StreamEvent::Delta(delta) => return Ok(Some(delta)),
                    StreamEvent::Done => return Ok(None),
                }
            }
            if let Some(end) = self.ended.take() {
                return self.close(transport, end);
            }
            match budget.run(self.response.chunk()).await {
                Err(stop) => return Err(transport.stopped(stop)),
                Ok(Ok(Some(bytes))) => {
                    self.parser.feed(&bytes).map_err(|large| transport.too_large(&large.to_string()))?
                }
                Ok(Ok(None)) => self.ended = Some(Ok(())),
                Ok(Err(error)) => self.ended = Some(Err(transport.cause(&error))),
            }
        }
    }

    fn take(&mut self, transport: &ChatTransport, event: &SseEvent) -> Result<StreamEvent, LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(StreamEvent::Done);
        }
        let status = self.response.status().as_u16();
        let raw: Value = serde_json::from_str(&event.data).map_err(|_| {
            let said = transport.endpoint.redactor.quote(&event.data);
            transport.invalid(&format!("streamed an event that is not JSON: {said}"))
        })?;
        match raw.get("error") {
            Some(error) if !error.is_null() => {
                return Err(error_object(&transport.endpoint, status, error));
            }
            _ if event.name == "error" => {
                return Err(error_object(&transport.endpoint, status, &raw));
            }
            _ => {}
        }
        let text = self.assembly.add(&raw).map_err(|wrong| transport.wrong_shape(wrong))?;
        if self.assembly.size() > transport.config.max_body {
            let limit = transport.config.max_body;
            return Err(transport.too_large(&format!("the answer has more than {limit} bytes")));
        }
        Ok(StreamEvent::Delta(ChatDelta { text, raw }))
    }

    /// The bytes are over. That is fine after the model said why it stopped; otherwise something is missing.
    fn close(
        &mut self,
        transport: &ChatTransport,
        end: Result<(), String>,
    ) -> Result<Option<ChatDelta>, LlmError> {
        let why = match end {
            Ok(()) => "the server closed it".to_owned(),
            Err(why) => why,
        };
        let last = self.parser.finish().map_err(|large| transport.too_large(&large.to_string()))?;
        if let Some(event) = last {
            match self.take(transport, &event) {
                Ok(StreamEvent::Done) => return Ok(None),
                Ok(StreamEvent::Delta(delta)) => {
                    self.ended = Some(Err(why));
                    return Ok(Some(delta));
                }
                // Half an event is what a torn stream looks like.
                Err(error) if error.kind == LlmErrorKind::InvalidResponse => {}
                Err(error) => return Err(error),
            }
        }
        if self.assembly.is_finished() {
            return Ok(None);
        }
        let message = format!(
            "The stream of the model endpoint {} broke off before the answer was complete: {why}; `partial` has what came.",
            transport.endpoint.origin
        );
        let status = self.response.status().as_u16();
        Err(LlmError::new(LlmErrorKind::TruncatedStream, message).with_status(status))
    }
}

/// What an event was.
enum StreamEvent {
    Delta(ChatDelta),
    Done,
}
