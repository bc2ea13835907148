//! A server's tool that has the name of a native one.

use crate::model::Source;
use crate::registry::{Candidate, NameEntry};

/// Native is what the user put in: a Python tool, or a skill that is no server's.
fn is_native(candidate: &Candidate) -> bool {
    candidate.source != Source::Mcps && candidate.server.is_none()
}

/// Whether this candidate of a server stands beside a native one.
pub fn is_shadow(candidate: &Candidate, entry: &NameEntry) -> bool {
    !is_native(candidate) && entry.candidates.iter().any(|other| is_native(other))
}
