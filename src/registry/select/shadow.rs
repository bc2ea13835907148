//! Server tools that have the name of a native tool.

use crate::{Candidate, NameEntry};
use toolhub_types::model::Source;

/// Native tools come from the user: Python tools, and skills that are not a server's.
fn is_native(candidate: &Candidate) -> bool {
    candidate.source != Source::Mcps && candidate.server.is_none()
}

/// True when this server's candidate has the name of a native tool.
pub fn is_shadow(candidate: &Candidate, entry: &NameEntry) -> bool {
    !is_native(candidate) && entry.candidates.iter().any(|other| is_native(other))
}
