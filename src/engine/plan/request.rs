//! What a caller asks for, what an agent may call, and the question that asks for an approval.

use super::order::MessageTurn;
use std::sync::Arc;
use std::time::Duration;
use toolhub_registry::identity::{CallContent, CallTarget, NotJson};
use toolhub_registry::select::Candidates;
use toolhub_text::pattern::PatternList;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::CallOptions;

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
