//! Chooses the strategy: the first rule that applies.

use super::candidates::{is_untrusted, runs_alone};
use super::rule::Rule;
use super::strategies::{StrategyPatterns, configured};
use crate::Candidate;
use std::sync::Arc;
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{Prefer, Safety, Source, Strategy};

/// What decides about the strategy, beside the candidates.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrategyInput<'a> {
    /// What the call says; `Auto` leaves it to the tool, the patterns and the rules.
    pub wanted: Strategy,
    pub by_capability: bool,
    /// A model asked.
    pub is_routed: bool,
    pub prefer: Prefer,
    pub patterns: Option<&'a StrategyPatterns>,
}

/// The strategy for these candidates: what the call says, the tool, the patterns of the hub, or else the first rule that fits.
/// Whatever is named, candidates that may act never run at once, declared or guessed from the name, and neither do those of
/// servers whose effects are unknown. `read_only=True` is how a user allows it, and `assume_read_only` for a server.
pub fn decide(candidates: &[Arc<Candidate>], input: &StrategyInput<'_>) -> (Strategy, Rule) {
    if candidates.len() <= 1 {
        let strategy = if input.wanted == Strategy::Auto { Strategy::First } else { input.wanted };
        return (strategy, Rule::OneCandidate);
    }
    let may_act = candidates.iter().any(|one| one.spec().effects.safety == Safety::MayAct);
    let named = match (input.wanted, input.patterns) {
        (Strategy::Auto, Some(patterns)) => configured(candidates, patterns, input.by_capability),
        (Strategy::Auto, None) => None,
        (wanted, _) => Some((wanted, Rule::Asked)),
    };
    match named {
        Some((Strategy::First | Strategy::All, _)) if may_act => (Strategy::Fallback, Rule::Effects),
        Some((Strategy::First | Strategy::All, _)) if candidates.iter().any(|one| runs_alone(one)) => {
            (Strategy::Fallback, Rule::UnknownEffects)
        }
        Some((strategy, rule)) if strategy != Strategy::Auto => (strategy, rule),
        _ if may_act => (Strategy::Fallback, Rule::Effects),
        _ => by_rules(candidates, input),
    }
}

/// For candidates of which none may act.
fn by_rules(candidates: &[Arc<Candidate>], input: &StrategyInput<'_>) -> (Strategy, Rule) {
    if input.is_routed {
        return (Strategy::Fallback, Rule::Routed);
    }
    if candidates.iter().any(|candidate| runs_alone(candidate)) {
        return (Strategy::Fallback, Rule::UnknownEffects);
    }
    if candidates.iter().any(|candidate| is_untrusted(candidate)) {
        return (Strategy::Fallback, Rule::Untrusted);
    }
    let two = candidates.len() == 2;
    if input.by_capability && two {
        return (Strategy::All, Rule::TwoCandidates);
    }
    if !input.by_capability && input.prefer == Prefer::Mcps && is_mixed(candidates) {
        return (Strategy::Fallback, Rule::Preferred);
    }
    let any = |kind: ToolKind| {
        candidates.iter().any(|c| kind.is_in(c.spec().capabilities.iter().map(|tag| &**tag)))
    };
    if any(ToolKind::Calculation) || any(ToolKind::Time) {
        (Strategy::First, Rule::FastestIsBest)
    } else if any(ToolKind::Search) || any(ToolKind::Extraction) {
        (Strategy::All, Rule::AnswersComplement)
    } else if two {
        (Strategy::All, Rule::TwoCandidates)
    } else {
        (Strategy::First, Rule::ManyCandidates)
    }
}

/// Whether MCP servers and others have it.
fn is_mixed(candidates: &[Arc<Candidate>]) -> bool {
    let is_mcp = |candidate: &Arc<Candidate>| candidate.source == Source::Mcps;
    candidates.iter().any(is_mcp) && !candidates.iter().all(is_mcp)
}
