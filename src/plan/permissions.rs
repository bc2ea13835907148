//! What an agent may call, and the question that asks for an approval.

use crate::pattern::PatternList;
use crate::select::Candidates;
use std::sync::Arc;

/// The permissions of the agent that asks.
#[derive(Clone)]
pub struct Permissions {
    /// The tools that the agent may call.
    pub allowed: Arc<PatternList>,
    /// Tools that are not known to be harmless need an approval.
    pub asks: bool,
}

/// What the caller is asked to approve.
#[derive(Clone)]
pub struct ApprovalRequest {
    pub name: Arc<str>,
    /// The servers that may be called.
    pub servers: Vec<Arc<str>>,
    /// Empty for a tool that no server has listed yet.
    pub description: Arc<str>,
    /// The candidates, in the order in which they would be tried. The caller is shown the arguments as the first one that
    /// accepts them takes them, checked and coerced, and the call runs with exactly those.
    pub candidates: Candidates,
}

/// The answer to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approved,
    /// The reason as the rest of a sentence: "it was not approved".
    Refused(String),
}
