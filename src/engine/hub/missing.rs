//! Why no candidate can be called, in words. Tools of servers that changed after they were pinned are in no list and no prompt;
//! a call of one gets the reason.

use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use toolhub_registry::{Filter, NameEntry, Snapshot, nearest};
use toolhub_text::message;
use toolhub_text::message::{Join, Message};
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::Source;

pub fn hidden(name: &str) -> HubError {
    let name = clip(name);
    HubError::new(
        ErrorKind::NotAllowed,
        message!("'{}' is not for models; only the program calls it, by its name.", name),
    )
}

pub fn not_found(snapshot: &Snapshot, name: &str, filter: Filter<'_>) -> HubError {
    let offered = |near: &Arc<str>| {
        let entry = snapshot.get(near);
        entry.is_some_and(|entry| entry.candidates.iter().any(|one| filter.matches(one)))
    };
    let suggestions: Vec<_> = nearest(snapshot, name, 50).into_iter().filter(offered).take(3).collect();
    let name = clip(name);
    let message = match suggestions.as_slice() {
        [] if snapshot.is_empty() => {
            message!("There is no tool named '{}'. No tool is registered yet.", name)
        }
        [] => message!("There is no tool named '{}'.", name),
        near => {
            let quoted = near.iter().map(|near| format!("'{}'", clip(near)).into()).collect();
            message!("There is no tool named '{}'. Did you mean {}?", name, Message::list(quoted, Join::Or))
        }
    };
    HubError { suggestions, ..HubError::new(ErrorKind::NotFound, message) }
}

/// Different tools have this name, and one of them has to be meant.
pub fn several_tools(name: &str, entry: &NameEntry) -> Message {
    let tools: Vec<_> = entry.tools.iter().map(|tool| clip(&tool.name)).collect();
    message!("Different tools are named '{}': {}. Name one, or its `server`.", clip(name), tools.join(", "))
}

/// The name is registered, but none of its providers may be called.
pub fn no_provider(name: &str, entry: &NameEntry, filter: Filter<'_>) -> HubError {
    let name = clip(name);
    if let Some(denied) = entry.candidates.iter().find(|candidate| filter.matches(candidate)) {
        let text = message!(
            "Tool '{}' of {} has the name of a native tool, and this hub forbids that (shadow=\"deny\").",
            name,
            denied.label()
        );
        return HubError::new(ErrorKind::NotAllowed, text);
    }
    let wanted = match (filter.source, filter.server) {
        (_, Some(server)) => message!("server '{}'", clip(server)),
        (Some(source), None) => message!("source '{}'", source),
        (None, None) => message!("any source"),
    };
    let there: Vec<String> = entry.candidates.iter().map(|candidate| candidate.label()).collect();
    HubError::new(
        ErrorKind::NotFound,
        message!("Tool '{}' is not offered by {}; it is offered by: {}.", name, wanted, there.join(", ")),
    )
}

/// Why a tool is refused, by its name.
pub type RefusalReasons = HashMap<Arc<str>, Message>;

/// By server.
#[derive(Default)]
pub struct PinRefusals(RwLock<BTreeMap<Arc<str>, RefusalReasons>>);

impl PinRefusals {
    /// The error for a call that means a refused tool.
    pub(super) fn error(&self, name: &str, filter: Filter<'_>) -> Option<HubError> {
        if filter.source.is_some_and(|source| source != Source::Mcps) {
            return None;
        }
        let all = self.0.read();
        let mut matching =
            all.iter().filter(|(server, _)| filter.server.is_none_or(|wanted| wanted == &***server));
        let why = matching.find_map(|(_, refused)| refused.get(name))?;
        Some(HubError::new(ErrorKind::NotAllowed, why.clone()))
    }

    /// Why tools of a server are refused, in order.
    pub fn reasons(&self, server: &str) -> Vec<String> {
        let all = self.0.read();
        let mut reasons: Vec<String> =
            all.get(server).into_iter().flat_map(HashMap::values).map(ToString::to_string).collect();
        reasons.sort_unstable();
        reasons
    }

    /// Refuses calls of these tools of a server with these sentences, and of no others.
    pub fn replace(&self, server: &Arc<str>, reasons: RefusalReasons) {
        let mut all = self.0.write();
        match reasons.is_empty() {
            true => drop(all.remove(server)),
            false => drop(all.insert(server.clone(), reasons)),
        }
    }
}
