//! The candidates of a call in order: which of them must run alone, and which have the name of a native tool.

use crate::{Candidate, Filter, NameEntry, Snapshot};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;
use toolhub_text::pattern::PatternList;
use toolhub_types::model::{Prefer, Safety, Shadow, Source};

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

impl<'a> From<Filter<'a>> for Wanted<'a> {
    fn from(filter: Filter<'a>) -> Self {
        Wanted { filter, ..Wanted::default() }
    }
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
pub fn by_name<'a>(entry: &NameEntry, wanted: impl Into<Wanted<'a>>, now: Instant) -> (Candidates, usize) {
    let wanted = wanted.into();
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
pub fn by_capability<'a>(
    snapshot: &Snapshot,
    tag: &str,
    wanted: impl Into<Wanted<'a>>,
    rng: &mut fastrand::Rng,
    now: Instant,
) -> (Candidates, usize) {
    let wanted = wanted.into();
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
