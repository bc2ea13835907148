//! Asking for the approval of a call: each form of the arguments that a candidate would run with is a question of its own.

use super::approvals::{Approvals, ArgumentForm};
use super::state::{Awaiting, CallDriver, Next};
use super::verdict::{failed_question, function_answer};
use crate::awaiting::iterator_of;
use crate::copying;
use crate::imported::Imported;
use crate::json;
use crate::once::intern;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;
use std::time::{Duration, Instant};
use toolhub::plan::{ApprovalRequest, NOT_APPROVED, NextApprover, Verdict};

const EARLY: Duration = Duration::from_millis(2);

impl CallDriver {
    pub(super) fn ask_approval<'py>(&self, py: Python<'py>, request: ApprovalRequest) -> PyResult<Next<'py>> {
        match Approvals::new(self.args.bind(py), self.checks, &request) {
            Ok(approvals) => {
                // Those of an earlier question are dropped without the lock.
                let earlier = self.state.lock().approvals.replace(Box::new(approvals));
                drop(earlier);
            }
            Err(error) => return self.refuse(py, &error).map(Next::Finish),
        }
        self.ask_next(py)
    }

    /// Asks the next approver about the form whose turn it is; after the last form, reports to the plan.
    fn ask_next<'py>(&self, py: Python<'py>) -> PyResult<Next<'py>> {
        let approvers = self.plan.lock().request().permissions.as_ref().map(|one| one.approvers.clone());
        let approvers = approvers.unwrap_or_default();
        let asked = {
            let mut state = self.state.lock();
            let Some(asked) = &mut state.approvals else { return Ok(Next::Plan) };
            loop {
                let Some(form) = asked.forms.get_mut(asked.at) else { break None };
                match form.round.next(&approvers) {
                    NextApprover::Function(number) => break Some(number),
                    NextApprover::Store => form.is_kept = true,
                    NextApprover::Nobody(Verdict::Refused(reason)) => form.refusal = Some(reason),
                    NextApprover::Nobody(Verdict::Approved) => {}
                }
                asked.at += 1;
            }
        };
        match asked {
            Some(number) => self.ask_function(py, number),
            None => self.all_asked(py),
        }
    }

    /// The forms that are not refused may run, if nobody leaves it to the store.
    fn all_asked<'py>(&self, py: Python<'py>) -> PyResult<Next<'py>> {
        let (refusal, is_kept) = {
            let state = self.state.lock();
            let forms = state.approvals.as_ref().map_or(&[][..], |asked| &asked.forms);
            let is_open = |form: &&ArgumentForm| form.refusal.is_none();
            let first = forms.first().and_then(|form| form.refusal.clone());
            let refusal = || first.unwrap_or_else(|| NOT_APPROVED.to_owned());
            let is_refused = !forms.iter().any(|form| is_open(&form));
            (is_refused.then(refusal), forms.iter().filter(is_open).any(|form| form.is_kept))
        };
        let verdict = match refusal {
            Some(reason) => Verdict::Refused(reason),
            None if is_kept || self.heeds_answers() => return self.ask_later(py, is_kept),
            None => Verdict::Approved,
        };
        self.plan.lock().approval_answered(verdict);
        Ok(Next::Plan)
    }

    fn heeds_answers(&self) -> bool {
        self.plan.lock().request().permissions.as_ref().is_some_and(|one| one.heeds_answers)
    }

    /// Asks a function of the user, within the deadline of the call.
    fn ask_function<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Next<'py>> {
        static APPROVAL: Imported = Imported::new("toolhub.permissions", "Approval");
        static UNTIL_CLOSED: Imported = Imported::new("toolhub._user_functions", "until_closed");
        let Some(permissions) = &self.callbacks.permissions else { return Ok(Next::Plan) };
        let (args, servers, request, meta) = {
            let state = self.state.lock();
            let Some(asked) = &state.approvals else { return Ok(Next::Plan) };
            let args = asked.forms[asked.at].args.bind(py).clone();
            let meta = state.extras.as_ref().map(|extras| extras.meta.clone()).unwrap_or_default();
            (args, asked.servers(), asked.request.clone(), Value::Object(meta))
        };
        let programs = self.hub.get().core().definition(&request.candidates).programs();
        let Ok(shown) = copying::copy(&args) else {
            return Err(PyRuntimeError::new_err("arguments that were copied cannot be copied again"));
        };
        let servers = PyTuple::new(py, servers.iter().map(|id| &**id))?;
        let call_id = self.callbacks.call_id.as_deref();
        let (meta, programs) = (json::to_python(py, &meta)?, PyTuple::new(py, programs)?);
        let (name, description) = (&*request.name, &*request.description);
        let sentence = self.plan.lock().request().proposed_in.clone();
        let approval = APPROVAL.get(py)?.call1((
            name,
            shown,
            call_id,
            servers,
            description,
            meta,
            programs,
            sentence,
        ))?;
        // A timer of the loop may be early by the resolution of its clock; the deadline must have passed then.
        let left = self.plan.lock().time_left(Instant::now()).map(|left| (left + EARLY).as_secs_f64());
        let question = permissions.bind(py).call_method1(intern!(py, "ask"), (number, approval, left))?;
        let question = UNTIL_CLOSED.get(py)?.call1((&self.hub, question))?;
        self.state.lock().awaiting = Awaiting::Approval;
        Ok(iterator_of(&question)?.map_or(Next::Plan, Next::Await))
    }

    pub(super) fn approval_ended<'py>(
        &self,
        py: Python<'py>,
        ended: PyResult<Py<PyAny>>,
    ) -> PyResult<Next<'py>> {
        let answer = match ended {
            Ok(answer) => function_answer(answer.bind(py)),
            // The plan says so.
            Err(_) if self.hub.get().core().is_closed() => return Ok(Next::Plan),
            Err(error) => {
                let answer = failed_question(py, error, self.approval_limit(py))?;
                let in_time = self.plan.lock().check_deadline(Instant::now());
                match in_time {
                    Ok(()) => answer,
                    Err(late) => return self.refuse(py, &late).map(Next::Finish),
                }
            }
        };
        if let Some(asked) = &mut self.state.lock().approvals
            && let Some(form) = asked.forms.get_mut(asked.at)
            && let Err(Verdict::Refused(reason)) = form.round.answered(answer)
        {
            form.refusal = Some(reason);
            asked.at += 1;
        }
        self.ask_next(py)
    }

    fn approval_limit(&self, py: Python<'_>) -> f64 {
        let permissions = self.callbacks.permissions.as_ref();
        let limit = permissions.and_then(|one| one.bind(py).getattr(intern!(py, "timeout")).ok());
        limit.and_then(|limit| limit.extract().ok()).unwrap_or_default()
    }
}
