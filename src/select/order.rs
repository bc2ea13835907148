//! Who comes first.

use super::Candidates;
use crate::registry::{Candidate, Filter, NameEntry, Snapshot};
use std::sync::Arc;
use std::time::Instant;

/// By name: the last successful candidate, then priority, health, registration; resting ones last.
/// The number says how many are not resting.
pub fn by_name(entry: &NameEntry, filter: Filter<'_>, now: Instant) -> (Candidates, usize) {
    let mut candidates: Candidates =
        entry.candidates.iter().filter(|candidate| filter.matches(candidate)).cloned().collect();
    if candidates.len() <= 1 {
        let healthy = candidates.len();
        return (candidates, healthy);
    }
    let last = entry.last_success();
    candidates.sort_by_cached_key(|candidate| {
        let health = candidate.stats.health(now);
        (health.resting, Some(candidate.id) != last, candidate.priority, health, candidate.id)
    });
    let healthy = awake(&candidates, now);
    (candidates, healthy)
}

/// By capability: by priority, shuffled inside one priority; resting ones last.
pub fn by_capability(
    snapshot: &Snapshot,
    tag: &str,
    filter: Filter<'_>,
    rng: &mut fastrand::Rng,
    now: Instant,
) -> (Candidates, usize) {
    let mut candidates: Candidates =
        snapshot.with_tag(tag).filter(|candidate| filter.matches(candidate)).cloned().collect();
    rng.shuffle(&mut candidates);
    candidates.sort_by_key(|candidate| (candidate.stats.health(now).resting, candidate.priority));
    let healthy = awake(&candidates, now);
    (candidates, healthy)
}

fn awake(candidates: &[Arc<Candidate>], now: Instant) -> usize {
    candidates.iter().take_while(|candidate| !candidate.stats.health(now).resting).count()
}
