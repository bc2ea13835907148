//! The lines that a recorder writes. Their fields are described in `docs/reference/events.md`.

use serde::Serialize;
use toolhub_types::error::HubError;
use toolhub_types::model::ToolOutput;

/// The version of the format.
pub const VERSION: u64 = 2;
/// In the first line of every cassette.
pub const FORMAT: &str = "toolhub-events";

toolhub_types::named! {
    /// What was called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LineKind {
        /// A tool.
        Call = "call",
        /// A model.
        Model = "model",
    }
}

/// A recorded call, as the calls that its tool makes know it.
#[derive(Clone)]
pub struct OuterCall {
    /// The number of the recording in this process.
    recording: u64,
    began: u64,
}

impl OuterCall {
    pub(super) fn new(recording: u64, began: u64) -> Self {
        OuterCall { recording, began }
    }

    /// Its number in this recording; a task of its tool may live on into a later one.
    pub(super) fn number_in(&self, recording: u64) -> Option<u64> {
        (self.recording == recording).then_some(self.began)
    }
}

/// What came of a call; `None` if it was given up: another candidate had won, or its caller had gone.
pub type TapedAnswer = Option<Result<ToolOutput, HubError>>;

pub(super) fn outcome_of(answer: &TapedAnswer) -> &'static str {
    match answer {
        Some(Ok(_)) => "ok",
        Some(Err(error)) => error.kind.name(),
        None => "stopped",
    }
}
