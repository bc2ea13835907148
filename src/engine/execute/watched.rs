//! An attempt that somebody looks at while it runs.

use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_types::error::HubError;
use toolhub_types::tool::{AttemptWatch, CallContext};

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
