//! L2, request × snapshot → ordered candidates and a strategy.
//!
//! One policy per file: the order ([`order`]), the strategy ([`auto`], and what users set in [`strategies`]), whether a tool
//! may change something ([`effects`]), and which candidates shadow a native tool ([`shadow`]).

mod auto;
pub mod effects;
mod order;
mod rule;
mod shadow;
mod strategies;

pub use auto::{StrategyInput, decide};
pub use order::{Wanted, by_capability, by_name};
pub use rule::Rule;
pub use shadow::is_shadow;
pub use strategies::StrategyPatterns;

use crate::model::{Safety, Source, Strategy};
use crate::registry::Candidate;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most names have one to four candidates: no allocation for them.
pub type Candidates = SmallVec<[Arc<Candidate>; 4]>;

/// The candidates to try, in order, and the strategy.
pub struct Selection {
    pub candidates: Candidates,
    /// The number of candidates, from the start, that are not suspended by their circuit breaker.
    pub healthy: usize,
    /// Never [`Strategy::Auto`].
    pub strategy: Strategy,
    pub rule: Rule,
    /// Another candidate may follow a failed one only when the failure proves that nothing happened.
    pub guarded: bool,
}

/// Applies the policies.
pub fn select(candidates: Candidates, healthy: usize, input: &StrategyInput<'_>) -> Selection {
    let (strategy, rule) = decide(&candidates, input);
    let guarded = candidates.iter().any(|candidate| is_guarded(candidate));
    Selection { candidates, healthy, strategy, rule, guarded }
}

/// True when the call must end after a failure of this candidate that may have had effects.
pub fn is_guarded(candidate: &Candidate) -> bool {
    runs_alone(candidate) && !candidate.spec().idempotent
}

/// True when the candidate must not run at the same time as another one. Users register native tools of one name side by
/// side on purpose, so an unknown effect does not matter there; names on servers collide by accident.
fn runs_alone(candidate: &Candidate) -> bool {
    match candidate.spec().effects.safety {
        Safety::Harmless => false,
        Safety::Unknown => candidate.source == Source::Mcps,
        Safety::MayAct => true,
    }
}
