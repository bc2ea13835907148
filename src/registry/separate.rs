//! Copies of candidates with statistics of their own, so that calls of the copies leave no trace in the originals.

use super::candidate::Candidate;
use super::snapshot::{NO_CANDIDATE, NameEntry, Snapshot};
use crate::stats::CandidateStats;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// An original, held so that its address stays its own, and what stands for it.
type Separate<T> = HashMap<usize, (Arc<T>, Arc<T>)>;

/// What the copies have learnt. It begins empty, and is the same for all snapshots that are copied with it.
#[derive(Default)]
pub struct SeparateStats {
    stats: Separate<CandidateStats>,
    last_success: Separate<AtomicU64>,
    /// Whether the originals learn it too.
    is_passed_on: bool,
}

impl SeparateStats {
    /// The originals learn what the copies do.
    pub fn passing_on() -> Self {
        SeparateStats { is_passed_on: true, ..SeparateStats::default() }
    }

    /// A copy of a candidate.
    pub fn candidate(&mut self, of: &Arc<Candidate>) -> Arc<Candidate> {
        let key = Arc::as_ptr(&of.stats) as usize;
        let is_passed_on = self.is_passed_on;
        let fresh = || match is_passed_on {
            true => Arc::new(CandidateStats::passing_on(of.stats.clone())),
            false => Arc::default(),
        };
        let (_, stats) = self.stats.entry(key).or_insert_with(|| (of.stats.clone(), fresh()));
        Arc::new(Candidate {
            id: of.id,
            source: of.source,
            server: of.server.clone(),
            priority: of.priority,
            tool: of.tool.clone(),
            gate: of.gate.clone(),
            stats: stats.clone(),
            variant: of.variant,
        })
    }

    fn entry(&mut self, of: &NameEntry) -> NameEntry {
        let key = Arc::as_ptr(&of.last_success) as usize;
        let fresh = || (of.last_success.clone(), Arc::new(AtomicU64::new(NO_CANDIDATE)));
        let last_success = self.last_success.entry(key).or_insert_with(fresh).1.clone();
        let candidates = of.candidates.iter().map(|one| self.candidate(one)).collect();
        let passed_on = self.is_passed_on.then(|| of.last_success.clone());
        NameEntry { candidates, last_success, passed_on, ..of.clone() }
    }
}

impl Snapshot {
    /// A copy whose candidates have these statistics.
    pub fn with_stats(&self, separate: &mut SeparateStats) -> Snapshot {
        let mut copy = self.clone();
        for (name, entry) in &self.names {
            let entry = separate.entry(entry);
            for candidate in &entry.candidates {
                for tag in &candidate.spec().capabilities {
                    if let Some(tagged) = copy.tags.get_mut(tag) {
                        tagged.insert((candidate.priority, candidate.id), candidate.clone());
                    }
                }
            }
            copy.names.insert(name.clone(), Arc::new(entry));
        }
        copy
    }
}
