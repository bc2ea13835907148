//! A call of a candidate on tokio that is recorded, or looked at while it runs. A replay needs nothing here: its candidates are
//! recordings.

use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_registry::identity::CandidateDefinition;
use toolhub_store::tape::{MissedCall, OpenCall, Taping};
use toolhub_types::error::HubError;
use toolhub_types::model::{Arguments, ToolOutput};
use toolhub_types::tool::{AttemptWatch, CallContext, OnProgress};

/// How a tape changes a job.
#[derive(Clone)]
pub enum JobTape {
    Off,
    /// The answer of the candidate is written down.
    Record(Arc<OpenCall>, Arc<CandidateDefinition>),
    /// Calls are replayed, and nothing that was recorded fits.
    Missed(Arc<MissedCall>),
}

impl JobTape {
    /// The tool is about to be called.
    pub fn begin(&self, candidate: &Candidate) -> Result<Option<Taping>, HubError> {
        match self {
            JobTape::Off => Ok(None),
            JobTape::Record(call, definition) => Ok(Some(call.attempt(candidate, definition, None))),
            JobTape::Missed(miss) => Err(miss.count()),
        }
    }
}

/// Calls the tool, and writes down what comes of it.
pub async fn call(
    taping: Option<Taping>,
    candidate: &Candidate,
    args: &Arguments,
    context: &CallContext,
) -> Result<ToolOutput, HubError> {
    let Some(taping) = taping else { return candidate.tool.call(args, context).await };
    let taping = Arc::new(taping);
    let mut context = context.clone();
    context.on_tape = Some(Arc::new(taping.as_outer()));
    context.extras.progress = context.extras.progress.map(|told| heard(told, &taping));
    let answer = candidate.tool.call(args, &context).await;
    let (was_stopped, was_sent) = (context.cancel.is_cancelled(), context.sent.was_sent());
    drop(context);
    if let Some(mut taping) = Arc::into_inner(taping) {
        if was_stopped && answer.is_ok() {
            taping.came_late();
        }
        taping.end(&Some(answer.clone().map_err(|error| error.of_attempt(was_sent))));
    }
    answer
}

/// Holds the recording weakly, so that a tool that keeps the function does not keep it open.
fn heard(told: OnProgress, taping: &Arc<Taping>) -> OnProgress {
    let taping = Arc::downgrade(taping);
    Arc::new(move |update| {
        if let Some(taping) = taping.upgrade() {
            taping.progressed(update);
        }
        told(update);
    })
}

/// One that is dropped before its end was stopped.
pub struct WatchedAttempt(Option<(Arc<dyn AttemptWatch>, u64)>);

impl WatchedAttempt {
    pub fn begin(candidate: &Candidate, context: &CallContext) -> Self {
        let watch = context.extras.watch.clone();
        WatchedAttempt(watch.map(|watch| {
            let number = watch.began(&candidate.label());
            (watch, number)
        }))
    }

    pub fn end<T>(mut self, answer: &Result<T, HubError>, context: &CallContext) {
        let Some((watch, number)) = self.0.take() else { return };
        let was_stopped = context.cancel.is_cancelled();
        match answer {
            Ok(_) => watch.ended(number, "ok", was_stopped),
            Err(_) if was_stopped => watch.ended(number, STOPPED, false),
            Err(error) => watch.ended(number, error.kind.name(), false),
        }
    }
}

const STOPPED: &str = "stopped";

impl Drop for WatchedAttempt {
    fn drop(&mut self) {
        if let Some((watch, number)) = self.0.take() {
            watch.ended(number, STOPPED, false);
        }
    }
}
