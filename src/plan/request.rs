//! What a caller asks for.

use super::permissions::Permissions;
use crate::model::CallOptions;
use std::sync::Arc;
use std::time::Duration;

/// Which tool is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// By name, as a program calls it.
    Name(Arc<str>),
    /// Every tool with this capability.
    Capability(Arc<str>),
    /// As a model asked: the name, and the `source` of its request.
    Routed { name: Arc<str>, source: Option<Arc<str>> },
}

impl CallTarget {
    /// The name of the tool, or the capability.
    pub fn name(&self) -> &Arc<str> {
        match self {
            CallTarget::Name(name) | CallTarget::Capability(name) | CallTarget::Routed { name, .. } => name,
        }
    }
}

/// The result may come from the cache, or from an identical call in flight.
#[derive(Clone, Debug)]
pub struct SharingRequest {
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    /// The arguments in a form that is equal for equal arguments.
    pub arguments: Arc<str>,
    /// What is passed on to the server, in the same form. Calls that differ in it do not share.
    pub meta: Option<Arc<str>>,
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
    pub unreadable: Option<String>,
    pub options: CallOptions,
    /// Of the agent that asks; `None` allows everything.
    pub permissions: Option<Permissions>,
    pub sharing: Option<SharingRequest>,
}

impl CallRequest {
    pub fn new(target: CallTarget, options: CallOptions) -> Self {
        CallRequest { target, unreadable: None, options, permissions: None, sharing: None }
    }
}
