//! What every reader works on, and what it returns.

use std::ops::Deref;
use std::sync::Arc;

use super::buffer::InputBuffer;
use super::schemas::ToolSchemas;

/// The input, the schemas of the tools, and the dialect that was asked for.
pub(super) struct ReadContext {
    input: InputBuffer,
    pub tools: Arc<dyn ToolSchemas>,
    /// The requested dialect.
    pub asked: Option<&'static str>,
}

impl ReadContext {
    pub fn new(input: InputBuffer, tools: Arc<dyn ToolSchemas>, asked: Option<&'static str>) -> Self {
        Self { input, tools, asked }
    }

    pub fn is_known(&self, tool: &str) -> bool {
        self.tools.parameters(tool).is_some()
    }

    /// Text up to the first of these, or to the end.
    pub async fn as_text_until(&self, at: usize, ends: &[&str]) -> Found {
        Found::Text(self.text_until(at, ends).await.map_or_else(|| self.end_so_far(), |(end, _)| end))
    }
}

impl Deref for ReadContext {
    type Target = InputBuffer;

    fn deref(&self) -> &InputBuffer {
        &self.input
    }
}

/// Where a marker starts, and the position after it.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub start: usize,
    pub after: usize,
}

/// What a reader found after a marker. One that found nothing has emitted nothing: it is not this dialect.
pub(super) enum Found {
    /// Text up to this position.
    Text(usize),
    /// A block with its calls, up to this position.
    Block(usize),
    /// A message of the model that is all of the text.
    Message(MessageText),
}

/// The words of a message of the model: they may have calls.
pub(super) struct MessageText {
    pub text: String,
    /// The end of the message.
    pub to: usize,
    /// Even without a call in its words, nothing else in it is one.
    pub is_certain: bool,
    /// See [`ApiMessage`](super::api_message::ApiMessage).
    pub is_broken_off: bool,
}
