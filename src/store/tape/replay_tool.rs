//! A recording in the place of a tool.

use super::reading::Recording;
use std::any::Any;
use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{Arguments, CheckOptions, Fitting, ToolOutput, ToolSpec};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// Answers as the tool did when it was recorded. Any arguments fit: the call was found by its key.
pub struct ReplayTool {
    tool: Arc<dyn Tool>,
    recording: Arc<Recording>,
    is_timed: bool,
}

impl ReplayTool {
    /// A candidate that is answered by a recording. It has statistics of its own, so nothing is learnt from it.
    pub fn candidate(of: &Candidate, recording: Arc<Recording>, is_timed: bool) -> Arc<Candidate> {
        let tool = ReplayTool { tool: of.tool.clone(), recording, is_timed };
        Arc::new(Candidate { tool: Arc::new(tool), ..of.apart() })
    }
}

/// The recording that answers for a candidate, in a replay.
pub fn recording_of(candidate: &Candidate) -> Option<&Recording> {
    let tool: &dyn Any = &*candidate.tool;
    tool.downcast_ref::<ReplayTool>().map(|tool| &*tool.recording)
}

/// The recording of a candidate whose answer is there at once, so that a driver need not wait for it.
pub fn ready_recording(candidate: &Candidate) -> Option<&Recording> {
    let tool: &dyn Any = &*candidate.tool;
    let tool = tool.downcast_ref::<ReplayTool>().filter(|tool| !tool.is_timed)?;
    Some(&*tool.recording).filter(|recording| recording.answer.is_some())
}

impl Tool for ReplayTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, _: &Arguments, _: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        Ok(Fitting::unchanged())
    }

    fn marks_sent(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        _: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        Box::pin(async move {
            if self.recording.was_sent() {
                ctx.sent.begin();
            }
            if let Some(told) = &ctx.extras.progress {
                self.recording.progress.iter().for_each(|update| told(update));
            }
            let answered = async {
                if self.is_timed {
                    tokio::time::sleep(self.recording.took()).await;
                }
                match self.recording.answer.clone() {
                    Some(answer) => answer,
                    // Its caller goes, as when it was recorded.
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                answer = answered => answer,
                () = ctx.cancel.cancelled() => {
                    let text = format!("Tool '{}' was cancelled.", clip(&self.spec().name));
                    Err(HubError::new(ErrorKind::Cancelled, text))
                }
            }
        })
    }
}
