//! Which strategy fits: the first rule that applies.

use super::nature::{self, Nature};
use crate::model::{Effects, Strategy};
use crate::registry::Candidate;
use std::sync::Arc;

/// Why a strategy was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    OneCandidate,
    /// A tool with effects is never run twice at once.
    Effects,
    /// Answers agree, so the fastest is the best.
    FastestIsBest,
    /// Answers complement each other.
    AnswersComplement,
    TwoCandidates,
    ManyCandidates,
    /// MCP servers are asked first, not beside the others.
    Preferred,
    /// The caller chose.
    Asked,
}

impl Rule {
    /// Whether nothing but the nature and the number of the candidates spoke for it.
    pub fn is_choice(self) -> bool {
        !matches!(self, Rule::OneCandidate | Rule::Effects | Rule::Asked)
    }

    pub fn sentence(self) -> &'static str {
        match self {
            Rule::OneCandidate => "there is one candidate",
            Rule::Effects => "the tool has effects, so its candidates never run at once",
            Rule::FastestIsBest => "calculation and time tools agree, so the fastest answer wins",
            Rule::AnswersComplement => "search and extraction tools complement each other",
            Rule::TwoCandidates => "there are two candidates",
            Rule::ManyCandidates => "there are several candidates of one kind",
            Rule::Preferred => "MCP servers are preferred to native tools and skills",
            Rule::Asked => "the caller asked for it",
        }
    }
}

/// The strategy for these candidates. A strategy that the caller names is taken, except that *declared* effects are
/// never run twice at once; a mere guess from the name gives way to the caller's word.
pub fn decide(candidates: &[Arc<Candidate>], wanted: Strategy, by_capability: bool) -> (Strategy, Rule) {
    if candidates.len() <= 1 {
        let strategy = if wanted == Strategy::Auto { Strategy::First } else { wanted };
        return (strategy, Rule::OneCandidate);
    }
    let effects = |level: fn(Effects) -> bool| candidates.iter().any(|c| level(c.spec().effects));
    if wanted != Strategy::Auto {
        return match wanted {
            Strategy::First | Strategy::All if effects(|e| e == Effects::Declared) => {
                (Strategy::Fallback, Rule::Effects)
            }
            _ => (wanted, Rule::Asked),
        };
    }
    if effects(Effects::any) {
        return (Strategy::Fallback, Rule::Effects);
    }
    let two = candidates.len() == 2;
    if by_capability && two {
        return (Strategy::All, Rule::TwoCandidates);
    }
    match nature::of_all(candidates) {
        Nature::CalculationOrTime => (Strategy::First, Rule::FastestIsBest),
        Nature::SearchOrExtraction => (Strategy::All, Rule::AnswersComplement),
        Nature::Other if two => (Strategy::All, Rule::TwoCandidates),
        Nature::Other => (Strategy::First, Rule::ManyCandidates),
    }
}
