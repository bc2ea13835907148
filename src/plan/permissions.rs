//! What an agent may call, and the question that asks for an approval.

use crate::error::{ErrorKind, HubError, clip};
use crate::pattern::PatternList;
use crate::select::Candidates;
use std::sync::Arc;

/// The permissions of the agent that asks.
#[derive(Clone)]
pub struct Permissions {
    /// The tools that the agent may call.
    pub allowed: Arc<PatternList>,
    /// The caller is asked about tools that are not known to be harmless.
    pub asks: bool,
    /// The question is kept in the store, and the call ends as paused until somebody has answered it. If the caller is asked
    /// too, that comes first.
    pub asks_later: bool,
}

impl Permissions {
    /// Whether calls of tools that are not known to be harmless need an approval, now or later.
    pub fn needs_approval(&self) -> bool {
        self.asks || self.asks_later
    }
}

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
    pub(super) fn new(name: &Arc<str>, candidates: &Candidates) -> Self {
        let mut servers: Vec<Arc<str>> = candidates.iter().filter_map(|one| one.server.clone()).collect();
        servers.sort_unstable();
        servers.dedup();
        let described = candidates.iter().min_by_key(|one| (one.priority, one.id));
        let description = described.map_or_else(|| Arc::from(""), |one| one.spec().description.clone());
        ApprovalRequest { name: name.clone(), servers, description, candidates: candidates.clone() }
    }
}

/// The error of a candidate that nobody was asked about: it was registered or replaced in the meantime.
pub fn changed_meanwhile(name: &str) -> HubError {
    not_approved(name, "it changed while its approval was awaited")
}

/// The error of a candidate that must not run, with the reason as the rest of a sentence.
pub fn not_approved(name: &str, reason: &str) -> HubError {
    let text = format!("Tool '{}' was not called: {reason}.", clip(name));
    HubError::new(ErrorKind::NotAllowed, text)
}

/// The answer to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approved,
    /// The reason as the rest of a sentence: "it was not approved".
    Refused(String),
}
