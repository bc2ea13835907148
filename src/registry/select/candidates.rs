//! The candidates of a call: which of them must run alone, and which have the name of a native tool.

use crate::{Candidate, NameEntry};
use smallvec::SmallVec;
use std::sync::Arc;
use toolhub_types::model::{Safety, Source, Trust};

/// Most names have one to four candidates: no allocation for them.
pub type Candidates = SmallVec<[Arc<Candidate>; 4]>;

/// True when the hub does not start the candidate beside another one on its own account: a hostile server that answers
/// first would always win. A caller may still ask for it.
pub(super) fn is_untrusted(candidate: &Candidate) -> bool {
    candidate.spec().trust == Trust::None
}

/// True when the candidate must not run at the same time as another one, nor another one after it unless its failure proves
/// that nothing happened. An idempotent one may be repeated where it is; another provider would do it a second time. Users
/// register native tools of one name side by side on purpose, so an unknown effect does not matter there; names on servers
/// collide by accident.
pub fn runs_alone(candidate: &Candidate) -> bool {
    match candidate.spec().effects.safety {
        Safety::Harmless => false,
        Safety::Unknown => candidate.source == Source::Mcps,
        Safety::MayAct => true,
    }
}

/// Native tools come from the user: Python tools, and skills that are not a server's.
fn is_native(candidate: &Candidate) -> bool {
    candidate.source != Source::Mcps && candidate.server.is_none()
}

/// True when this server's candidate has the name of a native tool.
pub fn is_shadow(candidate: &Candidate, entry: &NameEntry) -> bool {
    !is_native(candidate) && entry.candidates.iter().any(|other| is_native(other))
}
