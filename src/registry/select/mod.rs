//! L2, request × snapshot → ordered candidates and a strategy.
//!
//! One policy per file: the order ([`order`]), the strategy ([`auto`], and what users set in [`strategies`]), whether a tool
//! may change something ([`effects`]), which candidates must run alone, and which shadow a native tool
//! ([`candidates`]).

mod auto;
mod candidates;
pub mod effects;
mod order;
mod rule;
mod strategies;

pub use auto::{StrategyInput, decide};
pub use candidates::{Candidates, is_shadow, runs_alone};
pub use order::{Wanted, by_capability, by_name};
pub use rule::Rule;
pub use strategies::{StrategyPatterns, configured};

use toolhub_types::model::Strategy;

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
    let guarded = candidates.iter().any(|candidate| runs_alone(candidate));
    Selection { candidates, healthy, strategy, rule, guarded }
}
