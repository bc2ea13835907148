//! L2, request × snapshot → ordered candidates and a strategy.
//!
//! One policy per file: the order ([`order`]), the strategy ([`strategy`]), and whether a tool may change something ([`effects`]).

pub mod effects;
mod order;
mod strategy;

pub use order::{Candidates, Wanted, by_capability, by_name, is_shadow, runs_alone};
pub use strategy::{Rule, StrategyInput, StrategyPatterns, configured, decide};
