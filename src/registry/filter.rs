//! Which candidates of a name a call asks for.

use super::candidate::Candidate;
use toolhub_types::model::Source;

/// Selects candidates of a name; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    pub source: Option<Source>,
    pub server: Option<&'a str>,
}

impl Filter<'_> {
    pub fn matches(&self, candidate: &Candidate) -> bool {
        self.source.is_none_or(|source| candidate.source == source)
            && self.server.is_none_or(|server| candidate.server.as_deref() == Some(server))
    }
}
