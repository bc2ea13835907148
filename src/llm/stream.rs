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
use super::client::Shared;
use super::error::{LlmError, LlmErrorKind};
use super::refusal::error_object;
use crate::sse::{SseEvent, SseParser};

/// The largest single event. Chunks have some hundred bytes; log probabilities may make them larger.
const MAX_EVENT: usize = 1024 * 1024;

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// The new text; empty for chunks with a role, reasoning, tool calls or usage only.
    pub text: String,
    /// The chunk as it came.
    pub raw: Value,
}

/// The stream of one answer. Made by [`OpenAi::stream`](super::OpenAi::stream).
pub struct ChatStream {
    shared: Arc<Shared>,
    budget: Budget,
    /// Gone once nothing more is to be read; the connection goes with it.
    reader: Option<Reader>,
    pending: Option<Delta>,
    end: Option<Result<ChatAnswer, LlmError>>,
}

impl ChatStream {
    pub(crate) fn new(shared: Arc<Shared>, budget: Budget, response: Response) -> Self {
        let reader = Reader {
            response,
            parser: SseParser::new(MAX_EVENT),
            assembly: Assembly::default(),
            ended: None,
        };
        Self { shared, budget, reader: Some(reader), pending: None, end: None }
    }

    /// The stream of a server that cannot stream: its whole answer as one delta.
    pub(crate) fn of_answer(shared: Arc<Shared>, budget: Budget, answer: ChatAnswer) -> Self {
        let delta = Delta { text: answer.text.clone(), raw: answer.raw.clone() };
        Self { shared, budget, reader: None, pending: Some(delta), end: Some(Ok(answer)) }
    }

    /// The next delta; `None` after the last one, or after an error. The future may be dropped and
    /// `next` called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<Delta, LlmError>> {
        if let Some(delta) = self.pending.take() {
            return Some(Ok(delta));
        }
        let reader = self.reader.as_mut()?;
        let error = match reader.step(&self.shared, &self.budget).await {
            Ok(Some(delta)) => return Some(Ok(delta)),
            Ok(None) => None,
            Err(mut error) => {
                let partial = reader.assembly.text().to_owned();
                error.partial = Some(self.shared.endpoint.redactor.hide(partial));
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
                self.end = Some(answer.map_err(|wrong| self.shared.wrong_shape(&wrong)));
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
            .field("origin", &self.shared.endpoint.origin)
            .field("ended", &self.end.is_some())
            .finish_non_exhaustive()
    }
}

/// The open connection and what has come through it.
struct Reader {
    response: Response,
    parser: SseParser,
    assembly: Assembly,
    /// How the bytes ended: as HTTP says, or for this reason.
    ended: Option<Result<(), String>>,
}

impl Reader {
    /// Reads up to the next delta; `None` when the answer is complete.
    async fn step(&mut self, shared: &Shared, budget: &Budget) -> Result<Option<Delta>, LlmError> {
        // What has already come is not handed out to somebody who does not want it any more.
        if budget.is_cancelled() {
            return Err(shared.stopped(Stop::Cancelled));
        }
        loop {
            if let Some(event) = self.parser.next_event() {
                match self.take(shared, &event)? {
                    Taken::Delta(delta) => return Ok(Some(delta)),
                    Taken::Done => return Ok(None),
                }
            }
            if let Some(end) = self.ended.take() {
                return self.close(shared, end);
            }
            match budget.run(self.response.chunk()).await {
                Err(stop) => return Err(shared.stopped(stop)),
                Ok(Ok(Some(bytes))) => {
                    self.parser.feed(&bytes).map_err(|large| shared.too_large(&large.to_string()))?
                }
                Ok(Ok(None)) => self.ended = Some(Ok(())),
                Ok(Err(error)) => self.ended = Some(Err(shared.cause(&error))),
            }
        }
    }

    fn take(&mut self, shared: &Shared, event: &SseEvent) -> Result<Taken, LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(Taken::Done);
        }
        let status = self.response.status().as_u16();
        let raw: Value = serde_json::from_str(&event.data).map_err(|_| {
            let said = shared.endpoint.redactor.quote(&event.data);
            shared.invalid(&format!("streamed an event that is not JSON: {said}"))
        })?;
        match raw.get("error") {
            Some(error) if !error.is_null() => {
                return Err(error_object(&shared.endpoint, status, error));
            }
            _ if event.name == "error" => {
                return Err(error_object(&shared.endpoint, status, &raw));
            }
            _ => {}
        }
        let text = self.assembly.add(&raw).map_err(|wrong| shared.wrong_shape(wrong))?;
        if self.assembly.size() > shared.config.max_body {
            let limit = shared.config.max_body;
            return Err(shared.too_large(&format!("the answer has more than {limit} bytes")));
        }
        Ok(Taken::Delta(Delta { text, raw }))
    }

    /// The bytes are over. That is fine after the model said why it stopped; otherwise something is missing.
    fn close(&mut self, shared: &Shared, end: Result<(), String>) -> Result<Option<Delta>, LlmError> {
        let why = match end {
            Ok(()) => "the server closed it".to_owned(),
            Err(why) => why,
        };
        let last = self.parser.finish().map_err(|large| shared.too_large(&large.to_string()))?;
        if let Some(event) = last {
            match self.take(shared, &event) {
                Ok(Taken::Done) => return Ok(None),
                Ok(Taken::Delta(delta)) => {
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
            shared.endpoint.origin
        );
        let status = self.response.status().as_u16();
        Err(LlmError::new(LlmErrorKind::TruncatedStream, message).with_status(status))
    }
}

/// What an event was.
enum Taken {
    Delta(Delta),
    Done,
}
