//! What is asked about a call that is not known to be harmless: each form of its arguments that a candidate takes.

use super::drive::CallServices;
use super::request::{ApprovalRequest, NOT_APPROVED, not_approved};
use crate::hub::PlannedRun;
use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_registry::identity::is_same_tool;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::HubError;

/// A form of the arguments, and the candidates that take it.
pub(super) struct ArgumentForm<A> {
    pub args: Arc<A>,
    candidates: Vec<Arc<Candidate>>,
    /// Whether it is left to the store; or why it must not run.
    pub answer: Result<bool, Message>,
}

impl<A> ArgumentForm<A> {
    fn new(args: A, candidates: Vec<Arc<Candidate>>) -> Self {
        ArgumentForm { args: Arc::new(args), candidates, answer: Err(NOT_APPROVED.into()) }
    }
}

/// What is asked, and what was answered.
pub(super) struct Approvals<A> {
    pub request: ApprovalRequest,
    /// In the order of the candidates.
    pub forms: Vec<ArgumentForm<A>>,
    /// Candidates that do not accept the arguments.
    refusals: Vec<(Arc<Candidate>, HubError)>,
}

impl<A> Approvals<A> {
    /// The arguments as each candidate takes them; the error is that of the first candidate when all refuse them.
    pub fn new<S: CallServices<Arguments = A>>(
        request: ApprovalRequest,
        services: &S,
    ) -> Result<Self, HubError> {
        // `5` and `"5"` are two forms, and so are values that are not JSON.
        let are_same = |one: &A, other: &A| {
            let (one, other) = (services.json(one), services.json(other));
            one.is_ok_and(|one| other.is_ok_and(|other| one == other))
        };
        let (mut forms, mut refusals) = (Vec::<ArgumentForm<A>>::new(), Vec::new());
        for candidate in &request.candidates {
            match services.fit(Some(candidate)) {
                Err(error) => refusals.push((candidate.clone(), error)),
                Ok(args) => match forms.iter_mut().find(|form| are_same(&form.args, &args)) {
                    Some(form) => form.candidates.push(candidate.clone()),
                    None => forms.push(ArgumentForm::new(args, vec![candidate.clone()])),
                },
            }
        }
        if let (true, Some((_, error))) = (forms.is_empty(), refusals.first()) {
            return Err(error.clone());
        }
        if forms.is_empty() {
            // A tool that no server has listed yet: nothing is known about its arguments.
            forms.push(ArgumentForm::new(services.fit(None)?, Vec::new()));
        }
        Ok(Approvals { request, forms, refusals })
    }

    /// The question about one form: it names the servers that would get the arguments in this form.
    pub fn request_of(&self, at: usize) -> ApprovalRequest {
        let mut request = self.request.clone();
        if self.forms.len() > 1 {
            let takes =
                |id: &Arc<str>| self.forms[at].candidates.iter().any(|one| one.server.as_ref() == Some(id));
            request.servers.retain(takes);
        }
        request
    }

    /// The forms that would run.
    pub fn open(&self) -> impl Iterator<Item = &ArgumentForm<A>> {
        self.forms.iter().filter(|form| form.answer.is_ok())
    }

    /// Whether the store decides; the reason of the first form if all are refused.
    pub fn is_kept(&self) -> Result<bool, Message> {
        match self.open().next() {
            Some(_) => Ok(self.open().any(|form| form.answer == Ok(true))),
            None => self.forms.first().map_or(Ok(false), |form| form.answer.clone()),
        }
    }

    /// What each candidate of a run gets: the approved arguments, or the reason why it must not start.
    pub fn for_run(&self, planned: &PlannedRun) -> Vec<Result<Arc<A>, HubError>> {
        let name = &self.request.name;
        let of = |now: &Arc<Candidate>| {
            let is_it = |asked: &Arc<Candidate>| is_same_tool(asked, now);
            if let Some(form) = self.forms.iter().find(|form| form.candidates.iter().any(is_it)) {
                return match &form.answer {
                    Ok(_) => Ok(form.args.clone()),
                    Err(reason) => Err(not_approved(name, reason.clone())),
                };
            }
            let refusal = self.refusals.iter().find(|(asked, _)| is_it(asked));
            let changed = || not_approved(name, message!("it changed while its approval was awaited"));
            Err(refusal.map_or_else(changed, |(_, error)| error.clone()))
        };
        planned.candidates.iter().map(of).collect()
    }
}
