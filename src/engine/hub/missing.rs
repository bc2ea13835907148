//! Why no candidate can be called, in words.

use std::fmt::Write;
use std::sync::Arc;
use toolhub_registry::{Filter, NameEntry, Snapshot, nearest};
use toolhub_types::error::{ErrorKind, HubError, clip};

pub fn hidden(name: &str) -> HubError {
    let name = clip(name);
    HubError::new(
        ErrorKind::NotAllowed,
        format!("'{name}' is not for models; only the program calls it, by its name."),
    )
}

pub fn not_found(snapshot: &Snapshot, name: &str, filter: Filter<'_>) -> HubError {
    let offered = |near: &Arc<str>| {
        let entry = snapshot.get(near);
        entry.is_some_and(|entry| entry.candidates.iter().any(|one| filter.matches(one)))
    };
    let suggestions: Vec<_> = nearest(snapshot, name, 50).into_iter().filter(offered).take(3).collect();
    let mut message = format!("There is no tool named '{}'.", clip(name));
    match suggestions.as_slice() {
        [] if snapshot.is_empty() => message.push_str(" No tool is registered yet."),
        [] => {}
        near => {
            let quoted: Vec<String> = near.iter().map(|n| format!("'{}'", clip(n))).collect();
            // Writing to a String cannot fail.
            let _ = write!(message, " Did you mean {}?", quoted.join(" or "));
        }
    }
    HubError { suggestions, ..HubError::new(ErrorKind::NotFound, message) }
}

/// The name is registered, but none of its providers may be called.
pub fn no_provider(name: &str, entry: &NameEntry, filter: Filter<'_>) -> HubError {
    let name = clip(name);
    if let Some(denied) = entry.candidates.iter().find(|candidate| filter.matches(candidate)) {
        let text = format!(
            "Tool '{name}' of {} has the name of a native tool, and this hub forbids that (shadow=\"deny\").",
            denied.label()
        );
        return HubError::new(ErrorKind::NotAllowed, text);
    }
    let wanted = match (filter.source, filter.server) {
        (_, Some(server)) => format!("server '{}'", clip(server)),
        (Some(source), None) => format!("source '{source}'"),
        (None, None) => "any source".to_owned(),
    };
    let there: Vec<String> = entry.candidates.iter().map(|candidate| candidate.label()).collect();
    HubError::new(
        ErrorKind::NotFound,
        format!("Tool '{name}' is not offered by {wanted}; it is offered by: {}.", there.join(", ")),
    )
}
