//! What a caller asks for.

use super::order::MessageTurn;
use super::permissions::Permissions;
use std::time::Duration;
use toolhub_registry::identity::{CallContent, CallTarget, NotJson};
use toolhub_text::message::Message;
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
