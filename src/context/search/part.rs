//! Search in some of the tools.

use toolhub_registry::{Candidate, NameEntry};

/// A part of the tools. What it leaves out has no influence on a search in it: neither its words nor how frequent they are.
pub trait ToolPart: Send + Sync {
    fn has_entry(&self, entry: &NameEntry) -> bool;

    /// Whether the text of this candidate counts.
    fn has_candidate(&self, candidate: &Candidate) -> bool;
}
