//! The end of a call whose attempts still go on.

use super::state::{Attempt, AttemptState, leftover};
use crate::drivers::child::Child;
use crate::runtime::loop_bridge::LoopBridge;
use crate::values::value;
use pyo3::prelude::*;
use toolhub::registry::Candidate;

/// The execution ends while this attempt is still going on: it must not report any more.
pub fn detach(attempt: &mut Attempt, py: Python<'_>, port: &LoopBridge, candidate: &Candidate) {
    match &attempt.state {
        AttemptState::Queueing { key, .. } | AttemptState::Recording { key } => drop(port.forget_mail(*key)),
        AttemptState::Thread { reply, key } => {
            drop(port.forget_mail(*key));
            reply.abandon(py, leftover(attempt.permits.take(), candidate));
        }
        AttemptState::Native { job, key, .. } => {
            drop(port.forget_mail(*key));
            job.abort();
        }
        AttemptState::Task(task) => {
            let leftover = leftover(attempt.permits.take(), candidate);
            let kept = Child::outlives_call(task.bind(py), leftover);
            if let Err(error) = kept.and_then(|()| port.keep_until_done(task.bind(py))) {
                error.write_unraisable(py, None);
            }
        }
        AttemptState::Coroutine(coroutine) => value::discard(coroutine.bind(py)),
        AttemptState::Nothing | AttemptState::InPlace => {}
    }
}
