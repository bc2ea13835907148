//! L2, request × snapshot → ordered candidates and a strategy.
//!
//! The candidates come in order; some must run alone, and some have the name of a native tool. The strategy is what the call
//! says, the tool, the patterns of a hub, or else the first rule that applies.
//!
//! Whether a tool may change something is decided in [`effects`].

pub mod effects;

use crate::{Candidate, Filter, NameEntry, Snapshot};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;
use toolhub_text::pattern::{PatternList, ScopedGlob};
use toolhub_text::{Message, message};
use toolhub_types::error::clip;
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{Prefer, Safety, Shadow, Source, Strategy, Trust};

/// Most names have one to four candidates: no allocation for them.
pub type Candidates = SmallVec<[Arc<Candidate>; 4]>;

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

/// The filter of a call, and its preference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    pub filter: Filter<'a>,
    pub prefer: Prefer,
    pub shadow: Shadow,
    /// The patterns that a provider has to match.
    pub allowed: Option<&'a PatternList>,
    /// How careful a caller may have to be with a provider at most.
    pub safety: Option<Safety>,
    /// A model asked: after the last success the order of the configuration counts, not what is known about health.
    pub is_routed: bool,
}

impl Wanted<'_> {
    /// True when the call may use this candidate.
    pub fn takes(&self, candidate: &Candidate, entry: &NameEntry) -> bool {
        self.filter.matches(candidate)
            && self
                .allowed
                .is_none_or(|list| list.allows(&candidate.spec().name, candidate.server.as_deref()))
            && self.safety.is_none_or(|most| candidate.spec().effects.safety <= most)
            && !(self.shadow == Shadow::Deny && is_shadow(candidate, entry))
    }

    /// False sorts first.
    fn comes_later(&self, candidate: &Candidate) -> bool {
        self.prefer == Prefer::Mcps && candidate.source != Source::Mcps
    }
}

/// By name: the preferred source, the last successful candidate, then priority, health (unless a model asked) and
/// registration; suspended candidates last. Of a name that several tools share, only the tool that the name means. Returns the
/// number of candidates that are not suspended.
pub fn by_name(entry: &NameEntry, wanted: Wanted<'_>, now: Instant) -> (Candidates, usize) {
    let mut candidates: Candidates =
        entry.candidates.iter().filter(|candidate| wanted.takes(candidate, entry)).cloned().collect();
    if let Some(tool) = entry.meant(&candidates) {
        candidates.retain(|candidate| tool.admits(candidate));
    }
    if candidates.len() <= 1 {
        let healthy = candidates.len();
        return (candidates, healthy);
    }
    let last = entry.last_success();
    candidates.sort_by_cached_key(|candidate| {
        let (health, later) = (candidate.stats.health(now), wanted.comes_later(candidate));
        let seen = (!wanted.is_routed).then_some(health);
        (health.resting, later, Some(candidate.id) != last, candidate.priority, seen, candidate.id)
    });
    let healthy = awake(&candidates, now);
    (candidates, healthy)
}

/// By capability: the preferred source, then priority, shuffled within one priority; suspended candidates last.
pub fn by_capability(
    snapshot: &Snapshot,
    tag: &str,
    wanted: Wanted<'_>,
    rng: &mut fastrand::Rng,
    now: Instant,
) -> (Candidates, usize) {
    let takes = |candidate: &&Arc<Candidate>| match wanted.shadow {
        Shadow::Report => wanted.filter.matches(candidate),
        Shadow::Deny => {
            snapshot.family(&candidate.spec().name).is_none_or(|entry| wanted.takes(candidate, entry))
        }
    };
    // Only the most precise group: what answers for a close tag is not run beside what has the tag.
    let groups = snapshot.answering(tag).into_iter();
    let groups = groups.map(|group| group.into_iter().filter(|c| takes(&c)).collect::<Candidates>());
    let mut candidates = groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default();
    rng.shuffle(&mut candidates);
    candidates.sort_by_key(|candidate| {
        (candidate.stats.health(now).resting, wanted.comes_later(candidate), candidate.priority)
    });
    let healthy = awake(&candidates, now);
    (candidates, healthy)
}

fn awake(candidates: &[Arc<Candidate>], now: Instant) -> usize {
    candidates.iter().take_while(|candidate| !candidate.stats.health(now).resting).count()
}

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
    // A hostile server that answers first would always win. A caller may still ask for it.
    if candidates.iter().any(|candidate| candidate.spec().trust == Trust::None) {
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

/// The reason for a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    OneCandidate,
    /// Candidates that may act never run at once.
    Effects,
    /// Candidates of servers whose effects are unknown do not run at once either.
    UnknownEffects,
    /// The user does not trust the server of a candidate.
    Untrusted,
    /// Answers agree, so the fastest is the best.
    FastestIsBest,
    /// Answers complement each other.
    AnswersComplement,
    TwoCandidates,
    ManyCandidates,
    /// MCP servers are tried first, not together with the others.
    Preferred,
    /// A model asked, and reads one answer.
    Routed,
    /// The tool was registered with a strategy.
    Tool,
    /// The hub has a strategy for this pattern.
    Pattern(Arc<str>),
    /// The caller chose.
    Asked,
}

impl Rule {
    pub fn sentence(&self) -> Message {
        match self {
            Rule::OneCandidate => message!("there is one candidate"),
            Rule::Effects => message!("the tool has effects, so its candidates never run at once"),
            Rule::UnknownEffects => message!(
                "the effects of a server's tool are unknown, so its candidates never run at once unless its server has \
                 assume_read_only"
            ),
            Rule::Untrusted => message!("a candidate's server is not trusted, so it never races"),
            Rule::FastestIsBest => message!("calculation and time tools agree, so the fastest answer wins"),
            Rule::AnswersComplement => message!("search and extraction tools complement each other"),
            Rule::TwoCandidates => message!("there are two candidates"),
            Rule::ManyCandidates => message!("there are several candidates of one kind"),
            Rule::Preferred => message!("MCP servers are preferred to native tools and skills"),
            Rule::Routed => {
                message!("the first match answers a model's call, and the others are its fallback")
            }
            Rule::Tool => message!("the tool was registered with this strategy"),
            Rule::Pattern(pattern) => message!("the hub has this strategy for '{}'", clip(pattern)),
            Rule::Asked => message!("the caller asked for it"),
        }
    }
}
