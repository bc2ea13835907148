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

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TapedAnswer {
    Output(Box<ToolOutput>),
    Error(Box<HubError>),
    /// It was given up: another candidate had won, or its caller had gone.
    Stopped,
}

impl TapedAnswer {
    pub fn output(output: ToolOutput) -> Self {
        TapedAnswer::Output(Box::new(output))
    }

    pub fn error(error: HubError) -> Self {
        TapedAnswer::Error(Box::new(error))
    }

    pub fn of(answer: &Result<ToolOutput, HubError>) -> Self {
        match answer {
            Ok(output) => TapedAnswer::output(output.clone()),
            Err(error) => TapedAnswer::error(error.clone()),
        }
    }

    pub(super) fn outcome(&self) -> &'static str {
        match self {
            TapedAnswer::Output(_) => "ok",
            TapedAnswer::Error(error) => error.kind.name(),
            TapedAnswer::Stopped => "stopped",
        }
    }
}
