//! The client: one connection pool for each configuration, shared by all clones.

use std::fmt;
use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use tokio_util::sync::CancellationToken;

use super::answer::ChatAnswer;
use super::budget::Budget;
use super::config::OpenAiConfig;
use super::error::LlmError;
use super::message::ChatMessage;
use super::stream::ChatStream;
use super::transport::{ChatTransport, header_text};

/// A client of one model at one endpoint. Cloning is cheap and shares the connections.
///
/// Its futures have to run in a tokio runtime that has I/O and time enabled.
#[derive(Clone)]
pub struct OpenAi {
    transport: Arc<ChatTransport>,
}

impl OpenAi {
    /// Checks the configuration. Nothing is connected yet.
    pub fn new(config: OpenAiConfig) -> Result<Self, LlmError> {
        Ok(Self { transport: Arc::new(ChatTransport::new(config)?) })
    }

    pub fn config(&self) -> &OpenAiConfig {
        &self.transport.config
    }

    /// Asks and waits for the whole answer.
    pub async fn chat(
        &self,
        messages: &[ChatMessage],
        cancel: &CancellationToken,
    ) -> Result<ChatAnswer, LlmError> {
        let budget = Budget::new(self.transport.config.timeout, cancel);
        let response = self.transport.open(messages, false, &budget).await?;
        self.transport.read_answer(response, &budget).await
    }

    /// The text that the model answers to one user message.
    pub async fn generate(&self, prompt: &str, cancel: &CancellationToken) -> Result<String, LlmError> {
        let answer = self.chat(&[ChatMessage::user(prompt)], cancel).await?;
        Ok(answer.text)
    }

    /// Asks and returns as soon as the answer begins. The timeout covers the whole stream. Nothing is
    /// tried again once the answer has begun.
    pub async fn stream(
        &self,
        messages: &[ChatMessage],
        cancel: &CancellationToken,
    ) -> Result<ChatStream, LlmError> {
        let budget = Budget::new(self.transport.config.timeout, cancel);
        let response = self.transport.open(messages, true, &budget).await?;
        let transport = Arc::clone(&self.transport);
        // Not every server can stream, and a login page is not an event stream; the many other types
        // that servers give to theirs are taken for one.
        let media_type = header_text(response.headers(), CONTENT_TYPE.as_str());
        if media_type.contains("json") || media_type.contains("html") {
            let answer = self.transport.read_answer(response, &budget).await?;
            return Ok(ChatStream::of_answer(transport, budget, answer));
        }
        self.transport.check_encoding(&response)?;
        Ok(ChatStream::new(transport, budget, response))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenAi").field(&self.transport.config).finish()
    }
}
