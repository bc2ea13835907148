//! What a caller is asked about one call, and the answers so far.

use crate::argument_checks::{CheckPass, Checks};
use crate::execution::arguments::{self, SlotArguments};
use crate::json;
use crate::large_json::{LargeJson, is_large, without_gil_if};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::Arc;
use toolhub::error::HubError;
use toolhub::hub::PlannedRun;
use toolhub::identity::is_same_tool;
use toolhub::plan::{ApprovalRequest, ApprovalRound, changed_meanwhile, not_approved};
use toolhub::registry::Candidate;

/// What was asked, and what was answered so far.
pub struct Approvals {
    pub(super) request: ApprovalRequest,
    /// In the order of the candidates.
    pub(super) forms: Vec<ArgumentForm>,
    /// The form that is asked about.
    pub(super) at: usize,
    /// Candidates that do not accept the arguments.
    refusals: Vec<(Arc<Candidate>, HubError)>,
}

/// Checked and coerced arguments, and the candidates that take them in this form. Python code has only a copy.
pub(super) struct ArgumentForm {
    pub(super) args: Py<PyAny>,
    pub(super) candidates: Vec<Arc<Candidate>>,
    pub(super) refusal: Option<String>,
    /// How far the question has come, and whether the store is to be asked.
    pub(super) round: ApprovalRound,
    pub(super) is_kept: bool,
}

impl ArgumentForm {
    fn new(args: &Bound<'_, PyAny>, candidates: Vec<Arc<Candidate>>) -> Self {
        let (args, round) = (args.clone().unbind(), ApprovalRound::default());
        ArgumentForm { args, candidates, refusal: None, round, is_kept: false }
    }
}

impl Approvals {
    /// The arguments as each candidate takes them; the error is that of the first candidate when all refuse them.
    pub(super) fn new(
        given: &Bound<'_, PyAny>,
        checks: Checks,
        request: &ApprovalRequest,
    ) -> Result<Self, HubError> {
        let py = given.py();
        let (mut forms, mut refusals) = (Vec::<ArgumentForm>::new(), Vec::new());
        for candidate in &request.candidates {
            match arguments::fit(candidate, given, &mut CheckPass::new(checks)) {
                Err(error) => refusals.push((candidate.clone(), error)),
                Ok(args) => match forms.iter_mut().find(|form| is_same(form.args.bind(py), &args)) {
                    Some(form) => form.candidates.push(candidate.clone()),
                    None => forms.push(ArgumentForm::new(&args, vec![candidate.clone()])),
                },
            }
        }
        if let (true, Some((_, error))) = (forms.is_empty(), refusals.first()) {
            return Err(error.clone());
        }
        if forms.is_empty() {
            // A tool that no server has listed yet: nothing is known about its arguments.
            forms.push(ArgumentForm::new(given, Vec::new()));
        }
        Ok(Approvals { request: request.clone(), forms, at: 0, refusals })
    }

    /// The servers that would get the arguments in the form that is asked about.
    pub(super) fn servers(&self) -> Vec<Arc<str>> {
        let form = &self.forms[self.at];
        let takes = |id: &Arc<str>| form.candidates.iter().any(|one| one.server.as_ref() == Some(id));
        match self.forms.len() {
            1 => self.request.servers.clone(),
            _ => self.request.servers.iter().filter(|id| takes(id)).cloned().collect(),
        }
    }

    /// What each candidate of a run gets: the approved arguments, or the reason why it must not start.
    pub fn for_run(&self, py: Python<'_>, planned: &PlannedRun) -> SlotArguments {
        let of = |now: &Arc<Candidate>| {
            let is_it = |asked: &Arc<Candidate>| is_same_tool(asked, now);
            if let Some(form) = self.forms.iter().find(|form| form.candidates.iter().any(is_it)) {
                return match &form.refusal {
                    None => Ok(form.args.clone_ref(py)),
                    Some(reason) => Err(not_approved(&self.request.name, reason)),
                };
            }
            let refusal = self.refusals.iter().find(|(asked, _)| is_it(asked));
            Err(refusal.map_or_else(|| changed_meanwhile(&self.request.name), |(_, error)| error.clone()))
        };
        planned.candidates.iter().map(of).collect()
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.forms.iter().try_for_each(|form| visit.call(&form.args))
    }
}

/// Whether both are the same JSON: `5` and `"5"` are two forms, and so are values that have none.
fn is_same(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let (Ok(first), Ok(second)) = (json::from_python(one), json::from_python(other)) else { return false };
    let (first, second) = (LargeJson::from(first), LargeJson::from(second));
    without_gil_if(one.py(), is_large(&first), || *first == *second)
}
