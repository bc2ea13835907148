//! L2, request × snapshot → ordered candidates and a strategy.
//!
//! One policy per file: the order ([`order`]), the strategy ([`strategy`]), and whether a tool may change something ([`effects`]).

pub mod effects;
mod order;
mod strategy;

pub use order::{Candidates, Wanted, by_capability, by_name, is_shadow, runs_alone};
pub use strategy::{Rule, StrategyInput, StrategyPatterns, configured, decide};

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
