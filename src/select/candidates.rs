//! The candidates of a call, and which of them must run alone.

use crate::model::{Safety, Source, Trust};
use crate::registry::Candidate;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most names have one to four candidates: no allocation for them.
pub type Candidates = SmallVec<[Arc<Candidate>; 4]>;

/// True when the call must end after a failure of this candidate that may have had effects.
pub fn is_guarded(candidate: &Candidate) -> bool {
    runs_alone(candidate) && !candidate.spec().idempotent
}

/// True when the hub does not start the candidate beside another one on its own account: a hostile server that answers
/// first would always win. A caller may still ask for it.
pub(super) fn is_untrusted(candidate: &Candidate) -> bool {
    candidate.spec().trust == Trust::None
}

/// True when the candidate must not run at the same time as another one. Users register native tools of one name side by
/// side on purpose, so an unknown effect does not matter there; names on servers collide by accident.
pub(super) fn runs_alone(candidate: &Candidate) -> bool {
    match candidate.spec().effects.safety {
        Safety::Harmless => false,
        Safety::Unknown => candidate.source == Source::Mcps,
        Safety::MayAct => true,
    }
}
