//! `approve="ask"`: the question is kept in the store, and the call ends as paused until somebody has answered it. The answer
//! is bound to what was shown: see `plan/question.rs`.

use super::state::{CallDriver, Next};
use crate::json;
use crate::once::intern;
use pyo3::prelude::*;
use std::path::Path;
use std::time::Instant;
use tokio::sync::oneshot;
use toolhub::aside;
use toolhub::error::{ErrorKind, HubError, clip};
use toolhub::invisible::error_line;
use toolhub::plan::{NOT_APPROVED, QuestionWork, Verdict};
use toolhub::store::ledger::ApprovalAnswer;
use toolhub::store::real_place;

/// Characters of a reason that are shown.
const LONGEST: usize = 20_000;

impl CallDriver {
    /// Uses the approval of this call up, or asks for one. All forms of the arguments are one question.
    /// Without `is_new_asked` only an answer to an earlier question counts.
    pub(super) fn ask_later<'py>(&self, py: Python<'py>, is_new_asked: bool) -> PyResult<Next<'py>> {
        let work = match self.question(py, is_new_asked)? {
            Ok(work) => work,
            Err(error) => return self.refuse(py, &error).map(Next::Finish),
        };
        let (ledger, end) = (self.hub.get().core().ledger(), self.plan.lock().end());
        let ask = async move {
            let question = match work.is_heavy() {
                true => aside::on_thread_until(end, move || work.question()).await,
                false => Some(work.question()),
            };
            let Some(question) = question else { return Err("the time is over".to_owned()) };
            let (answer, answered) = oneshot::channel();
            ledger.ask_approval(question, end, Box::new(move |known| drop(answer.send(known))));
            answered.await.unwrap_or_else(|_| Err("it is closed".to_owned()))
        };
        self.await_core(py, ask, |this, py, answer| this.stored_approval_ended(py, answer))
    }

    fn question(&self, py: Python<'_>, is_new_asked: bool) -> PyResult<Result<QuestionWork, HubError>> {
        let hub = self.hub.get().core();
        let (forms, request) = {
            let state = self.state.lock();
            let Some(asked) = &state.approvals else {
                return Ok(Err(HubError::new(ErrorKind::NotAllowed, "There is nothing to approve.")));
            };
            let open = asked.forms.iter().filter(|form| form.refusal.is_none());
            let forms: Vec<_> = open.map(|form| form.args.bind(py).clone()).collect();
            (forms, asked.request.clone())
        };
        let forms = forms.iter().map(json::from_arguments).collect();
        Ok(self.plan.lock().stored_question(hub, request, forms, is_new_asked))
    }

    fn stored_approval_ended<'py>(
        &self,
        py: Python<'py>,
        answer: Result<ApprovalAnswer, String>,
    ) -> PyResult<Next<'py>> {
        let name = self.plan.lock().request().target.name().clone();
        let verdict = match answer {
            Ok(ApprovalAnswer::Approved(_) | ApprovalAnswer::NeverAsked) => Verdict::Approved,
            Ok(ApprovalAnswer::Denied(reason)) => {
                let reason = reason.map(|reason| error_line(&reason, LONGEST)).unwrap_or_default();
                let given = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                Verdict::Refused(format!("{NOT_APPROVED}{given}"))
            }
            Ok(ApprovalAnswer::Pending(id)) => {
                let ledger = self.hub.get().core().ledger();
                let result = self.refuse(py, &waiting(&name, &id, ledger.path()))?;
                let meta = result.as_any().get_item(intern!(py, "_meta"))?;
                meta.set_item(intern!(py, "paused"), id)?;
                return Ok(Next::Finish(result));
            }
            Err(why) => {
                // Not in a `match`: the plan would stay locked there.
                let ledger = self.hub.get().core().ledger();
                let in_time = self.plan.lock().check_deadline_beside(Some(&ledger), Instant::now());
                if let Err(late) = in_time {
                    return self.refuse(py, &late).map(Next::Finish);
                }
                Verdict::Refused(format!("its approval cannot be asked for ({why})"))
            }
        };
        self.plan.lock().approval_answered(verdict);
        Ok(Next::Plan)
    }
}

/// The command works as it is printed, also in another folder; without a store no other process can decide.
fn waiting(tool: &str, id: &str, store: Option<&Path>) -> HubError {
    let tool = clip(tool);
    let text = match store.map(|store| shell_word(&real_place(store).to_string_lossy())) {
        Some(store) => format!(
            "Tool '{tool}' was not called: it waits for approval {id}. Approve it with hub.approve('{id}') or `toolhub approve {id} \
             --store {store}`, and make the call again."
        ),
        None => format!(
            "Tool '{tool}' was not called: it waits for approval {id}. Approve it with hub.approve('{id}'), and make the call again."
        ),
    };
    HubError::new(ErrorKind::Paused, text)
}

/// A text as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
