//! Strategies that a user has set: at a tool, or for a pattern of names.

use super::rule::Rule;
use crate::Candidate;
use std::sync::Arc;
use toolhub_text::pattern::ScopedGlob;
use toolhub_types::model::Strategy;

/// The strategies of a hub, by pattern.
#[derive(Clone, Debug, Default)]
pub struct StrategyPatterns {
    /// The most specific pattern first: the one with the most characters that stand for themselves.
    entries: Vec<PatternEntry>,
}

#[derive(Clone, Debug)]
struct PatternEntry {
    pattern: Arc<str>,
    glob: ScopedGlob,
    strategy: Strategy,
}

impl StrategyPatterns {
    /// The error says which pattern cannot be used, and why.
    pub fn new<'a>(given: impl IntoIterator<Item = (&'a str, Strategy)>) -> Result<Self, String> {
        let mut entries = Vec::new();
        for (pattern, strategy) in given {
            if pattern.trim().is_empty() {
                return Err("a pattern of strategies must not be empty".into());
            }
            if pattern.starts_with('!') {
                return Err(format!(
                    "a pattern of strategies names the tools that have the strategy, so it must not start with '!', got \
                     '{pattern}'"
                ));
            }
            entries.push(PatternEntry {
                pattern: Arc::from(pattern),
                glob: ScopedGlob::new(pattern),
                strategy,
            });
        }
        // The sort is stable: of two that are equally specific the first one counts.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.glob.literals()));
        Ok(StrategyPatterns { entries })
    }

    /// Whether a pattern names the tool: the user has decided how candidates of its name are used.
    pub fn name(&self, candidate: &Candidate) -> bool {
        self.of(candidate).is_some()
    }

    fn of(&self, candidate: &Candidate) -> Option<(Strategy, Rule)> {
        let (name, server) = (&candidate.spec().name, candidate.server.as_deref());
        let entry = self.entries.iter().find(|entry| entry.glob.matches(name, server))?;
        Some((entry.strategy, Rule::Pattern(entry.pattern.clone())))
    }
}

/// The strategy that is set for these candidates, if there is one: that of the tool, or else that of a pattern. Candidates of
/// one name may differ in it; the one with the highest priority counts, whichever has answered last. A call by capability
/// has candidates of several names, so they have to agree.
pub fn configured(
    candidates: &[Arc<Candidate>],
    patterns: &StrategyPatterns,
    by_capability: bool,
) -> Option<(Strategy, Rule)> {
    let of_tool = |one: &Arc<Candidate>| one.spec().strategy.map(|strategy| (strategy, Rule::Tool));
    if by_capability {
        let mut each = candidates.iter().map(|one| of_tool(one).or_else(|| patterns.of(one)));
        let first = each.next().flatten()?;
        let agree = each.all(|other| other.is_some_and(|(strategy, _)| strategy == first.0));
        return agree.then_some(first);
    }
    let mut ranked: Vec<&Arc<Candidate>> = candidates.iter().collect();
    ranked.sort_by_key(|one| (one.priority, one.id));
    let tool = ranked.iter().find_map(|one| of_tool(one));
    tool.or_else(|| ranked.iter().find_map(|one| patterns.of(one)))
}
