//! Chooses the strategy: the first rule that applies.

use super::runs_alone;
use crate::model::{Safety, Strategy};
use crate::registry::Candidate;
use std::sync::Arc;

/// The reason for a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    OneCandidate,
    /// Candidates that may act never run at once.
    Effects,
    /// Candidates of servers whose effects are unknown do not run at once either.
    UnknownEffects,
    /// Answers agree, so the fastest is the best.
    FastestIsBest,
    /// Answers complement each other.
    AnswersComplement,
    TwoCandidates,
    ManyCandidates,
    /// MCP servers are tried first, not together with the others.
    Preferred,
    /// The caller chose.
    Asked,
}

impl Rule {
    /// True for rules that are heuristics (kind, count) and may be overridden by `prefer`.
    pub fn is_choice(self) -> bool {
        !matches!(self, Rule::OneCandidate | Rule::Effects | Rule::UnknownEffects | Rule::Asked)
    }

    pub fn sentence(self) -> &'static str {
        match self {
            Rule::OneCandidate => "there is one candidate",
            Rule::Effects => "the tool has effects, so its candidates never run at once",
            Rule::UnknownEffects => {
                "the effects of a server's tool are unknown, so its candidates never run at once"
            }
            Rule::FastestIsBest => "calculation and time tools agree, so the fastest answer wins",
            Rule::AnswersComplement => "search and extraction tools complement each other",
            Rule::TwoCandidates => "there are two candidates",
            Rule::ManyCandidates => "there are several candidates of one kind",
            Rule::Preferred => "MCP servers are preferred to native tools and skills",
            Rule::Asked => "the caller asked for it",
        }
    }
}

/// The strategy for these candidates. A strategy that the caller names is taken, except that candidates that may act never
/// run twice at once, declared or guessed from the name: `read_only=True` is how a user allows it.
pub fn decide(candidates: &[Arc<Candidate>], wanted: Strategy, by_capability: bool) -> (Strategy, Rule) {
    if candidates.len() <= 1 {
        let strategy = if wanted == Strategy::Auto { Strategy::First } else { wanted };
        return (strategy, Rule::OneCandidate);
    }
    let may_act = |candidate: &&Arc<Candidate>| candidate.spec().effects.safety == Safety::MayAct;
    let mut acting = candidates.iter().filter(may_act).peekable();
    if wanted != Strategy::Auto {
        return match wanted {
            Strategy::First | Strategy::All if acting.peek().is_some() => (Strategy::Fallback, Rule::Effects),
            _ => (wanted, Rule::Asked),
        };
    }
    if acting.peek().is_some() {
        return (Strategy::Fallback, Rule::Effects);
    }
    if candidates.iter().any(|candidate| runs_alone(candidate)) {
        return (Strategy::Fallback, Rule::UnknownEffects);
    }
    let two = candidates.len() == 2;
    if by_capability && two {
        return (Strategy::All, Rule::TwoCandidates);
    }
    match Nature::of_all(candidates) {
        Nature::CalculationOrTime => (Strategy::First, Rule::FastestIsBest),
        Nature::SearchOrExtraction => (Strategy::All, Rule::AnswersComplement),
        Nature::Other if two => (Strategy::All, Rule::TwoCandidates),
        Nature::Other => (Strategy::First, Rule::ManyCandidates),
    }
}

enum Nature {
    CalculationOrTime,
    SearchOrExtraction,
    Other,
}

impl Nature {
    /// The nature of candidates that answer one call: what any of them says, calculation and time first.
    fn of_all(candidates: &[Arc<Candidate>]) -> Nature {
        let any =
            |tags: &[&str]| candidates.iter().any(|c| tags.iter().any(|tag| c.spec().has_capability(tag)));
        if any(&["calculate", "math", "time"]) {
            Nature::CalculationOrTime
        } else if any(&["search", "extract"]) {
            Nature::SearchOrExtraction
        } else {
            Nature::Other
        }
    }
}
