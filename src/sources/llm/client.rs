//! The client: one connection pool for each configuration, shared by all clones.

use std::fmt;
use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;

use super::answer::ChatAnswer;
use super::config::OpenAiConfig;
use super::deadline::ChatDeadline;
use super::message::ChatMessage;
use super::stream::ChatStream;
use super::transport::{ChatTransport, header_text};
use toolhub_types::error::HubError;

/// A client of one model at one endpoint. Cloning is cheap and shares the connections.
///
/// Its futures have to run in a tokio runtime that has I/O and time enabled. Dropping one cancels the request.
#[derive(Clone)]
pub struct OpenAi {
    transport: Arc<ChatTransport>,
}

impl OpenAi {
    /// Checks the configuration. Nothing is connected yet.
    pub fn new(config: OpenAiConfig) -> Result<Self, HubError> {
        Ok(Self { transport: Arc::new(ChatTransport::new(config)?) })
    }

    pub fn config(&self) -> &OpenAiConfig {
        &self.transport.config
    }

    /// Asks and waits for the whole answer.
    pub async fn chat(&self, messages: &[ChatMessage]) -> Result<ChatAnswer, HubError> {
        let deadline = ChatDeadline::after(self.transport.config.timeout);
        let response = self.transport.open(messages, false, deadline).await?;
        self.transport.read_answer(response, deadline).await
    }

    /// The text that the model answers to one user message.
    pub async fn generate(&self, prompt: &str) -> Result<String, HubError> {
        let answer = self.chat(&[ChatMessage::user(prompt)]).await?;
        Ok(answer.text)
    }

    /// Asks and returns as soon as the answer begins. The timeout covers the whole stream. Nothing is
    /// tried again once the answer has begun.
    pub async fn stream(&self, messages: &[ChatMessage]) -> Result<ChatStream, HubError> {
        let deadline = ChatDeadline::after(self.transport.config.timeout);
        let response = self.transport.open(messages, true, deadline).await?;
        let transport = Arc::clone(&self.transport);
        // Not every server can stream, and a login page is not an event stream; the many other types
        // that servers give to theirs are taken for one.
        let media_type = header_text(response.headers(), CONTENT_TYPE.as_str());
        if media_type.contains("json") || media_type.contains("html") {
            let answer = self.transport.read_answer(response, deadline).await?;
            return Ok(ChatStream::of_answer(transport, deadline, answer.text));
        }
        self.transport.check_encoding(&response)?;
        Ok(ChatStream::new(transport, deadline, response))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenAi").field(&self.transport.config).finish()
    }
}
