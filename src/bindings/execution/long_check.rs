//! Checking arguments on a thread, for a check that takes too long on the event loop.

use super::Execution;
use super::arguments::prepare;
use super::checked::CheckedArguments;
use super::state::{Address, AttemptStart, AttemptState};
use crate::bindings::argument_checks::{CheckPass, Checks};
use crate::bindings::pool::{self, FunctionCall, NotQueued, PoolKind};
use crate::bindings::slots;
use crate::execute::refused_by_pool;
use crate::registry::Candidate;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::Instant;

/// What a thread calls.
#[pyclass(frozen, module = "toolhub._core")]
struct LongCheck {
    candidate: Arc<Candidate>,
    args: Py<PyAny>,
    checks: Checks,
    deadline: Option<Instant>,
    passed_on: Option<Py<PyDict>>,
}

#[pymethods]
impl LongCheck {
    fn __call__(&self, py: Python<'_>) -> CheckedArguments {
        let mut pass = CheckPass::new(self.checks, self.deadline);
        pass.passed_on = self.passed_on.as_ref().map(|passed_on| passed_on.clone_ref(py));
        let prepared = prepare(&self.candidate, self.args.bind(py), &mut pass);
        CheckedArguments::new((prepared, pass))
    }
}

impl Execution {
    /// Begins the check; [`Execution::begin_checked`] goes on after it.
    pub(super) fn check_on_thread(
        slf: &Bound<'_, Self>,
        start: &AttemptStart,
        args: Py<PyAny>,
    ) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), start.slot);
        let (deadline, latest_start) = {
            let state = this.state.lock();
            let run = state.plan.as_ref().map(|plan| &plan.run);
            (run.and_then(|run| run.expires(slot)), run.and_then(|run| run.latest_start(slot)))
        };
        let passed_on = this.extras.as_ref().and_then(|extras| extras.passed_on.as_ref());
        let check = LongCheck {
            candidate: start.candidate.clone(),
            args,
            checks: this.checks,
            deadline,
            passed_on: passed_on.map(|passed_on| passed_on.clone_ref(py)),
        };
        let (function, kwargs) = (Bound::new(py, check)?.into_any(), PyDict::new(py).into_any().unbind());
        let around = slots::current(py)?;
        let call = FunctionCall {
            function,
            value: None,
            kwargs,
            around,
            latest_start,
            tool: None,
            held: None,
            large_args: None,
        };
        let Address { mailbox, key } = Self::address(slf, slot)?;
        // The threads of tools may all be taken by tools.
        match pool::submit(py, PoolKind::Callbacks, call, (mailbox, key)) {
            Ok(reply) => {
                let mut state = this.state.lock();
                state.attempts[slot].state = AttemptState::Thread { reply: Box::new(reply), key };
                if let Some(plan) = state.plan.as_mut() {
                    plan.run.set_waiting(slot, true);
                }
                Ok(())
            }
            Err(not_queued) => {
                Self::port(slf)?.get().forget_mail(key);
                match not_queued {
                    NotQueued::Failed(error) => Self::raised_in_place(slf, slot, error),
                    NotQueued::Refused(refusal) => {
                        this.fail(slot, refused_by_pool(&start.candidate.spec().name, refusal));
                        Ok(())
                    }
                }
            }
        }
    }
}
