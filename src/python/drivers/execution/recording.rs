//! The rows of attempts that may have effects: written before they start, ended with the execution.

use super::Execution;
use super::state::{Address, AttemptStart, AttemptState, FinishedExecution};
use crate::runtime;
use crate::runtime::fork_safe_once::intern;
use crate::runtime::loop_bridge::Mail;
use crate::runtime::mail_handler::Message;
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::json;
use crate::values::value;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub::aside;
use toolhub::error::HubError;
use toolhub::hub::{EffectRecorder, EndedRows, kept_failure};
use toolhub::identity::CallContent;
use toolhub::kill_point::kill_point;

impl Execution {
    /// What writes the row that this attempt still needs.
    pub(super) fn missing_row(&self, slot: usize) -> Option<Arc<EffectRecorder>> {
        let state = self.state.lock();
        let plan = state.plan.as_ref()?;
        plan.recorder.clone().filter(|_| plan.needs_row(slot))
    }

    /// Writes the row of an attempt, which goes on when it is committed.
    pub(super) fn write_row(
        slf: &Bound<'_, Self>,
        start: &AttemptStart,
        prepared: PreparedArguments,
        recorder: Arc<EffectRecorder>,
    ) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), start.slot);
        let given = this.state.lock().args.clone_ref(py);
        let content = || {
            let extras = this.extras.as_ref();
            let passed_on = extras.and_then(|extras| extras.passed_on.as_ref());
            CallContent {
                arguments: json::with_texts(given.bind(py)),
                meta: extras.map(|extras| extras.meta.clone()).unwrap_or_default(),
                passed_on: passed_on
                    .map(|passed_on| json::with_texts(passed_on.bind(py)))
                    .unwrap_or_default(),
            }
        };
        let definition = this.hub.get().core().tool_definition(&start.candidate);
        let Address { mailbox, key } = Self::address(slf, slot)?;
        {
            let mut state = this.state.lock();
            state.attempts[slot].state = AttemptState::Recording { key };
            state.attempts[slot].prepared = Some(prepared);
        }
        let written = move |result: Result<(), HubError>| {
            mailbox.push(Mail::Deliver(key, Message::Recorded(result.map_err(Box::new))));
        };
        kill_point();
        let content = (!recorder.knows_call()).then(content).unwrap_or_default();
        let (candidate, is_heavy) = (start.candidate.clone(), content.is_heavy());
        let write =
            move || recorder.write((slot, &candidate), &definition.digest, content, Box::new(written));
        // The digest of large arguments would hold up the loop.
        match is_heavy {
            true => runtime::spawn(async { _ = aside::on_thread(write).await }),
            false => {
                write();
                Ok(())
            }
        }
    }
}

/// How the rows of an execution end.
pub(super) fn ended_rows(finished: &mut FinishedExecution) -> Option<EndedRows> {
    let attempts = &finished.attempts;
    let error = |slot: usize| attempts.get(slot).and_then(|attempt| attempt.error.as_deref());
    finished.plan.as_mut()?.ended_rows(error)
}

/// Writes the rows, and in a run what the call gave.
pub(super) fn write(py: Python<'_>, rows: Option<EndedRows>, result: Option<&Bound<'_, PyDict>>) {
    let Some(rows) = rows else { return };
    kill_point();
    let success = result.and_then(|result| result.get_item(intern!(py, "success")).ok().flatten());
    let has_succeeded = success.is_some_and(|success| success.is_truthy().unwrap_or(false));
    rows.write(has_succeeded, || result.map(|result| kept(result, has_succeeded)));
}

/// A result as a run keeps it. A value that is no JSON is kept as it reads.
pub fn kept(result: &Bound<'_, PyDict>, has_succeeded: bool) -> Value {
    let py = result.py();
    let member = |key: &str| {
        let value = result.get_item(key).ok().flatten().unwrap_or_else(|| py.None().into_bound(py));
        json::from_python(&value)
            .unwrap_or_else(|_| Value::String(value::readable(&value).unwrap_or_default()))
    };
    if has_succeeded {
        return json!({"success": true, "result": member("result")});
    }
    let meta = result.get_item(intern!(py, "_meta")).ok().flatten();
    let word = |path: &[&str]| {
        let found = path.iter().try_fold(meta.clone()?, |value, key| value.get_item(key).ok());
        found.filter(|found| !found.is_none()).and_then(|found| Some(found.str().ok()?.to_string()))
    };
    let [kind, outcome] = ["kind", "outcome"].map(|key| word(&["error", key]).unwrap_or_default());
    let mut failure = kept_failure(member("error"), &kind, &outcome);
    if let (Some(id), Some(failure)) = (word(&["paused"]), failure.as_object_mut()) {
        failure.insert("paused".to_owned(), Value::String(id));
    }
    failure
}
