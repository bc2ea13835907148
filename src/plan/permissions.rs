//! What an agent may call, and the question that asks for an approval.

use crate::pattern::PatternList;
use std::sync::Arc;

/// The tools that an agent may call.
pub trait AllowList: Send + Sync {
    /// Whether a tool may be called on this server; `None` is a tool without a server.
    fn allows(&self, name: &str, server: Option<&str>) -> bool;
    /// Whether a tool of this name may be called on some server.
    fn may_allow(&self, name: &str) -> bool;
    /// Whether a pattern names servers, so that the provider of a tool decides.
    fn names_servers(&self) -> bool;
}

impl AllowList for PatternList {
    fn allows(&self, name: &str, server: Option<&str>) -> bool {
        self.allows(name, server)
    }

    fn may_allow(&self, name: &str) -> bool {
        self.may_allow(name)
    }

    fn names_servers(&self) -> bool {
        self.names_servers()
    }
}

/// The permissions of the agent that asks.
#[derive(Clone)]
pub struct Permissions {
    pub allowed: Arc<dyn AllowList>,
    /// Tools that are not known to be harmless need an approval.
    pub asks: bool,
}

/// What the caller is asked to approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    pub name: Arc<str>,
    /// The servers that may be called.
    pub servers: Vec<Arc<str>>,
    /// Empty for a tool that no server has listed yet.
    pub description: Arc<str>,
}

/// The answer to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approved,
    /// The reason as the rest of a sentence: "it was not approved".
    Refused(String),
}
