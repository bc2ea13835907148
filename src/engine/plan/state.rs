//! One call under way: what its caller asks for, and what is known and decided so far. The files that decide a step read and write
//! it.

use super::order::{CallVerdict, MessageTurn};
use crate::hub::{CallRecord, Hub, PlannedRun, late, part};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toolhub_context::synthesize;
use toolhub_context::synthesize::TIMEOUT;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallContent, CallIdentity, CallKey, CallTarget, NotJson};
use toolhub_registry::route::RouteRule;
use toolhub_registry::select::Candidates;
use toolhub_store::ledger::{Ledger, OccurrenceTicket, RunCall};
use toolhub_text::invisible::visible;
use toolhub_text::pattern::PatternList;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{CallOptions, Part};

/// The servers that could not be asked, each with the reason.
pub type Unreachable = Vec<(Arc<str>, HubError)>;

/// The names of the rules when there is no route.
pub const UNKNOWN_SOURCE: &str = "unknown";
pub const UNREADABLE: &str = "unreadable";

/// One call as a state machine. See the module documentation.
pub struct CallPlan {
    pub(super) request: CallRequest,
    /// What the call asks for, narrowed by route and permissions.
    pub(super) options: CallOptions,
    /// By what the call is found, if somebody has to; the reason if what it sends is not JSON.
    pub(super) key: Option<Result<Arc<CallKey>, NotJson>>,
    /// What the key is made of, while it takes too long to be made here.
    pub(super) heavy: Option<CallContent>,
    pub(super) begun: Instant,
    /// The rule that found the way of a routed call.
    pub(super) route: Option<RouteRule>,
    /// The servers that could not be asked; `Some` once they were.
    pub(super) unreachable: Option<Unreachable>,
    /// The servers of its candidates have been asked for their lists of now.
    pub(super) are_lists_current: bool,
    pub(super) is_approved: bool,
    /// `Some` for a call of a run, until it has ended.
    pub(super) number: Option<NumberedCall>,
    /// A call of a run that has to be made, and is recorded.
    pub(super) record: Option<CallRecord>,
    /// One of the candidates that ran may have left an effect; see [`PlannedRun::in_doubt`](crate::hub::PlannedRun::in_doubt).
    pub(super) in_doubt: Arc<AtomicBool>,
    pub(super) is_shareable: bool,
    /// The caller asked for something that permissions forbid.
    pub(super) is_forbidden: bool,
}

/// A call of a run, and which of the equal ones it is.
pub(super) struct NumberedCall {
    pub(super) ledger: Arc<Ledger>,
    pub(super) ticket: Arc<OccurrenceTicket>,
    pub(super) call: RunCall,
}

impl CallPlan {
    pub fn new(mut request: CallRequest, now: Instant) -> Self {
        let (key, heavy) = match request.content.take() {
            Some(Ok(content)) if content.is_large() => (None, Some(content)),
            content => {
                let key = |content| Arc::new(CallKey::new(&request.target, &request.options, content));
                (content.map(|content| content.map(key)), None)
            }
        };
        CallPlan {
            options: request.options.clone(),
            key,
            heavy,
            number: None,
            in_doubt: Arc::default(),
            record: None,
            // What a run has recorded is its own.
            is_shareable: request.sharing.is_some() && request.options.run.is_none(),
            request,
            begun: now,
            route: None,
            unreachable: None,
            are_lists_current: false,
            is_approved: false,
            is_forbidden: false,
        }
    }

    /// What makes another call the same call, if it runs with these candidates. The error: what it sends is not JSON, or nobody has
    /// to recognise it.
    pub fn identity(&self, hub: &Hub, candidates: &[Arc<Candidate>]) -> Result<CallIdentity, NotJson> {
        let key = self.key.as_ref().ok_or_else(NotJson::not_given)?.as_ref().map_err(NotJson::clone)?;
        Ok(CallIdentity { key: key.clone(), definition: hub.definition(candidates) })
    }

    /// The key was made.
    pub fn identified(&mut self, key: CallKey) {
        self.key = Some(Ok(Arc::new(key)));
    }

    /// The servers were asked; those that could not be are listed with the reason.
    pub fn looked_up(&mut self, unreachable: Unreachable) {
        self.unreachable = Some(unreachable);
    }

    /// The call has ended; without an `end` it was given up, and nobody knows what became of it. `answer` is what the caller is
    /// told, if [`CallPlan::is_told`].
    pub fn ended(&mut self, end: Option<CallVerdict>, answer: Option<Value>) {
        self.record = None;
        self.tell(answer);
        if let Some(mut turn) = self.request.turn.take() {
            // Of several candidates the worst end counts.
            let end = end.filter(|end| *end != CallVerdict::Over || !self.in_doubt.load(Ordering::Relaxed));
            turn.end(end.unwrap_or(CallVerdict::Unknown));
        }
    }

    /// Who is asked: lists, each of which has to approve.
    pub(super) fn approvers(&self) -> Arc<[Vec<Approver>]> {
        self.request.permissions.as_ref().map(|one| one.approvers.clone()).unwrap_or_default()
    }

    /// Whether an answer in the store counts even if nobody leaves it to the store.
    pub(super) fn heeds_answers(&self) -> bool {
        self.request.permissions.as_ref().is_some_and(|one| one.heeds_answers)
    }

    /// Neither the cache nor a call in flight has the answer: this call runs, and leads.
    pub fn not_shared(&mut self) {
        self.is_shareable = false;
    }

    /// How long a model may take to make one answer of several; the reason, if it is not asked.
    pub fn may_synthesize(&self, now: Instant) -> Result<Duration, Message> {
        let left = self.time_left(now).map_or(TIMEOUT, |left| left.min(TIMEOUT));
        if left.is_zero() { Err(message!("the deadline left no time to ask the model")) } else { Ok(left) }
    }

    /// What is left of the deadline.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        let spent = now.saturating_duration_since(self.begun);
        self.request.options.deadline.map(|deadline| deadline.saturating_sub(spent))
    }

    /// When the deadline passes.
    pub fn end(&self) -> Option<Instant> {
        self.begun.checked_add(self.request.options.deadline?)
    }

    /// A call without time left starts nothing: no server is asked, nor the caller.
    pub fn check_deadline(&self, now: Instant) -> Result<()> {
        self.check_deadline_beside(self.number.as_ref().map(|number| &number.ledger), now)
    }

    /// The same for a call that has asked this ledger, which may be what it waited for.
    pub fn check_deadline_beside(&self, ledger: Option<&Arc<Ledger>>, now: Instant) -> Result<()> {
        match self.time_left(now) {
            Some(Duration::ZERO) => {
                let is_locked = ledger.is_some_and(|ledger| ledger.is_locked());
                Err(self.late(Outcome::NotSent, is_locked))
            }
            _ => Ok(()),
        }
    }

    /// The error of a call whose deadline has passed, perhaps while it waited for an identical one, or for an approval.
    pub(super) fn late(&self, outcome: Outcome, is_locked: bool) -> HubError {
        let deadline = self.request.options.deadline.unwrap_or_default();
        late(self.request.target.name(), deadline, outcome, is_locked)
    }

    /// The error of a call that waited for an identical one as long as its own candidates may take.
    pub fn followed_too_long(&self, time: &TimeAllowed) -> HubError {
        let (what, seconds) = (clip(self.request.target.name()), time.timeouts.as_secs_f64());
        let text = message!("Tool '{}' timed out after {} s (it may still have run).", what, seconds);
        HubError::new(ErrorKind::Timeout, text)
    }

    pub fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    /// The name of the rule by which a routed call was routed; `None` for other calls.
    pub fn route_name(&self) -> Option<&'static str> {
        let CallTarget::Routed { .. } = &self.request.target else { return None };
        let is_unreadable = self.request.unreadable.is_some();
        let found = self.route.map_or(UNKNOWN_SOURCE, |rule| rule.name());
        Some(if is_unreadable { UNREADABLE } else { found })
    }

    /// Where the call goes: `None` means everywhere.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    pub fn request(&self) -> &CallRequest {
        &self.request
    }

    /// Whether the refusal of this call is one of the permissions.
    pub fn is_forbidden(&self) -> bool {
        self.is_forbidden
    }
}

impl Drop for CallPlan {
    /// Given up.
    fn drop(&mut self) {
        self.ended(None, None);
    }
}

/// Arguments that usually carry the question, the likeliest first.
const QUESTIONS: [&str; 7] = ["query", "question", "q", "input", "prompt", "text", "task"];

/// The question behind a call: the argument that carries it, or all of them.
pub fn question(args: &Value) -> String {
    let carried = QUESTIONS.iter().find_map(|name| args.get(name)?.as_str().filter(|text| !text.is_empty()));
    match (carried, args) {
        (Some(text), _) => text.to_owned(),
        (None, Value::Null) => String::new(),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    }
}

/// What the answers of a run are about: the capabilities of all candidates that answered decide.
pub fn answer_kind(planned: &PlannedRun) -> ToolKind {
    let answered = planned.run.winners().map(|slot| planned.candidates[slot].spec());
    let tags: Vec<&str> = answered.flat_map(|spec| spec.capabilities.iter().map(|tag| &**tag)).collect();
    synthesize::answer_kind(&tags)
}

/// The prompt for these answers (label and text of each), or the reason why no model is asked.
pub fn synthesis_prompt(
    question: &str,
    answers: impl IntoIterator<Item = (String, String)>,
    kind: ToolKind,
) -> Result<String, Message> {
    let answers: Vec<(String, String)> =
        answers.into_iter().map(|(label, text)| (label, visible(&text).into_owned())).collect();
    let limit = synthesize::limit(kind, answers.len());
    let parts: Vec<Part<'_>> = answers.iter().map(|(label, text)| part(label.clone(), text, limit)).collect();
    match synthesize::too_much(&parts) {
        Some(reason) => Err(reason),
        None => Ok(synthesize::prompt(question, &parts)),
    }
}

/// The result may come from the cache, or from an identical call in flight.
#[derive(Clone, Debug)]
pub struct SharingRequest {
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    pub validate: bool,
    pub coerce: bool,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeAllowed {
    /// The candidates, one after another.
    pub timeouts: Duration,
    /// The same, with the time to clean up after each.
    pub longest: Duration,
    pub deadline: Option<Duration>,
}

impl TimeAllowed {
    /// Whether a call that has failed for want of this time would have failed with that of the other one too.
    pub fn covers(&self, other: &TimeAllowed) -> bool {
        let end = |time: &TimeAllowed| time.deadline.unwrap_or(Duration::MAX);
        other.longest <= self.longest && end(other) <= end(self)
    }
}

pub struct CallRequest {
    pub target: CallTarget,
    /// Why the request cannot be read, if it cannot.
    pub unreadable: Option<Message>,
    pub options: CallOptions,
    /// What is sent, for a call that somebody has to recognise; the reason if it is not JSON.
    pub content: Option<Result<CallContent, NotJson>>,
    /// Of the agent that asks; `None` allows everything.
    pub permissions: Option<Permissions>,
    pub sharing: Option<SharingRequest>,
    /// The sentence around a call in a text that may not have been meant. It is made only if it is harmless or approved.
    pub proposed_in: Option<String>,
    /// Its place in the message that it is a part of.
    pub turn: Option<MessageTurn>,
}

impl CallRequest {
    pub fn new(target: CallTarget, options: CallOptions) -> Self {
        CallRequest {
            target,
            unreadable: None,
            options,
            content: None,
            permissions: None,
            sharing: None,
            proposed_in: None,
            turn: None,
        }
    }
}

/// The permissions of the agent that asks.
#[derive(Clone)]
pub struct Permissions {
    /// The tools that the agent may call.
    pub allowed: Arc<PatternList>,
    /// Who is asked about calls that are not known to be harmless: lists, each of which has to approve; without any, nobody is
    /// asked.
    pub approvers: Arc<[Vec<Approver>]>,
    /// Answers in the store count even if no approver is a person: somebody was asked before.
    pub heeds_answers: bool,
}

impl Permissions {
    /// Whether calls of tools that are not known to be harmless need an approval.
    pub fn needs_approval(&self) -> bool {
        !self.approvers.is_empty() || self.heeds_answers
    }

    /// Whether a person may be asked through the store.
    pub fn may_be_kept(&self) -> bool {
        self.heeds_answers || self.approvers.iter().flatten().any(|one| *one == Approver::Ask)
    }
}

/// One who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// A function of the caller, by its number.
    Function(usize),
    /// A person: the question is kept in the store, and the call ends as paused until somebody has answered it.
    Ask,
}

/// What a function has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionAnswer {
    Go,
    /// The reason as the rest of a sentence: "it was not approved".
    Refuse(Message),
    /// The next one in its list decides.
    Pass,
}

/// Why a call was refused, if its approver gave no reason.
pub const NOT_APPROVED: &str = "it was not approved";

/// What the caller is asked to approve.
#[derive(Clone)]
pub struct ApprovalRequest {
    pub name: Arc<str>,
    /// The servers that may be called.
    pub servers: Vec<Arc<str>>,
    /// Empty for a tool that no server has listed yet.
    pub description: Arc<str>,
    /// The candidates, in the order in which they would be tried. Each checks and coerces the arguments for itself; every
    /// form that comes of it is a question of its own, and a candidate runs with exactly what was shown.
    pub candidates: Candidates,
}

impl ApprovalRequest {
    pub(super) fn new(candidates: &Candidates) -> Self {
        // A call by capability may have tools of several names.
        let mut names: Vec<&Arc<str>> = Vec::new();
        for one in candidates {
            if !names.contains(&&one.spec().name) {
                names.push(&one.spec().name);
            }
        }
        let name = match &names[..] {
            [name] => Arc::clone(name),
            names => names.iter().map(|name| &***name).collect::<Vec<_>>().join(" or ").into(),
        };
        let mut servers: Vec<Arc<str>> = candidates.iter().filter_map(|one| one.server.clone()).collect();
        servers.sort_unstable();
        servers.dedup();
        let described = candidates.iter().min_by_key(|one| (one.priority, one.id));
        let description = described.map_or_else(|| Arc::from(""), |one| one.spec().description.clone());
        ApprovalRequest { name, servers, description, candidates: candidates.clone() }
    }
}

/// The error of a call that somebody has to recognise by its arguments: the text, unless they have too many values.
pub(super) fn not_json(tool: &str, why: &NotJson, text: Message) -> HubError {
    if why.too_many { why.refusal(tool) } else { HubError::new(ErrorKind::InvalidArguments, text) }
}

/// The error of a call that may not have been meant, and that nobody is asked about.
pub fn only_proposed(name: &str) -> HubError {
    let text = message!(
        "Tool '{}' was not called: the call is inside other text or lacks its marker, so it may not be intended. To make it, say \
         the call alone, in the format for tool calls, with nothing after it.",
        clip(name)
    );
    HubError::new(ErrorKind::Proposed, text)
}

/// The error of a candidate that must not run, with the reason as the rest of a sentence.
pub fn not_approved(name: &str, reason: impl Into<Message>) -> HubError {
    let text = message!("Tool '{}' was not called: {}.", clip(name), reason.into());
    HubError::new(ErrorKind::NotAllowed, text)
}
