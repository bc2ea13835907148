//! The candidates of one name.

use super::candidate::Candidate;
use super::namesakes::{NamesakeVerdict, is_of_server};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use toolhub_types::model::ToolSpec;

/// Stands for "no candidate has succeeded yet".
const NO_CANDIDATE: u64 = u64::MAX;

/// The candidates of one name, in registration order.
#[derive(Clone)]
pub struct NameEntry {
    /// What it is listed and called as.
    pub name: Arc<str>,
    pub candidates: Vec<Arc<Candidate>>,
    /// The different tools of this name, in the order of preference; empty when all candidates are one tool.
    pub tools: Vec<Arc<NameEntry>>,
    /// Why they are one tool, or several.
    pub(super) verdict: NamesakeVerdict,
    /// The lowest id of its candidates so far.
    pub(super) first_id: u64,
    /// The version of the registry at which this name last changed.
    pub changed_at: u64,
    /// Shared by all snapshots, so that a success seen by an old one counts in a new one.
    last_success: Arc<AtomicU64>,
    /// What the first candidate says of itself, under the name of this entry where that is another one.
    renamed: Option<Arc<ToolSpec>>,
}

impl NameEntry {
    pub(super) fn new(name: Arc<str>, first_id: u64) -> Self {
        NameEntry {
            name,
            candidates: Vec::new(),
            tools: Vec::new(),
            verdict: NamesakeVerdict::default(),
            first_id,
            changed_at: 0,
            last_success: Arc::new(AtomicU64::new(NO_CANDIDATE)),
            renamed: None,
        }
    }

    /// Some of its candidates, listed under a name of their own, or under its own name.
    pub(super) fn part(&self, name: Arc<str>, candidates: Vec<Arc<Candidate>>, changed_at: u64) -> Self {
        let is_own = name == self.name;
        let mut part = NameEntry {
            first_id: if is_own { self.first_id } else { candidates.first().map_or(0, |first| first.id) },
            candidates,
            changed_at,
            ..NameEntry::new(name.clone(), 0)
        };
        part.last_success.store(self.last_success.load(Ordering::Relaxed), Ordering::Relaxed);
        let spec = part.primary().filter(|_| !is_own).map(|first| ToolSpec { name, ..first.spec().clone() });
        part.renamed = spec.map(Arc::new);
        part
    }

    /// The candidate whose description and schema represent the name.
    pub fn primary(&self) -> Option<&Arc<Candidate>> {
        self.candidates.iter().min_by_key(|candidate| (candidate.priority, candidate.id))
    }

    /// What the tool says of itself, with the name that it is called by.
    pub fn spec(&self) -> Option<&ToolSpec> {
        self.renamed.as_deref().or_else(|| self.primary().map(|first| first.spec()))
    }

    /// Whether it is listed as `server__name`.
    pub fn is_apart(&self) -> bool {
        self.renamed.is_some()
    }

    /// Where the name stands in the list of all names. Later names have higher positions. Odd for a tool that is listed as
    /// `server__name`, because a native tool may stand for the same candidate.
    pub fn position(&self) -> u64 {
        (self.first_id << 1) | u64::from(self.is_apart())
    }

    /// True when the tool is hidden from models.
    pub fn is_hidden(&self) -> bool {
        self.candidates.iter().all(|candidate| candidate.spec().is_hidden)
    }

    pub fn has(&self, candidate: &Candidate) -> bool {
        self.candidates.iter().any(|one| one.id == candidate.id)
    }

    /// The tool that the name means for a call that may use these candidates: the first by priority and registration, whatever
    /// has succeeded or failed, so that a name does not change its meaning.
    pub fn meant<'a>(&'a self, usable: &[Arc<Candidate>]) -> Option<&'a Arc<NameEntry>> {
        let of_servers = usable.iter().filter(|one| is_of_server(one));
        let first = of_servers.min_by_key(|one| (one.priority, one.id))?;
        self.tools.iter().find(|tool| tool.is_apart() && tool.has(first))
    }

    /// Whether a call that means this tool may use a candidate of the name.
    pub fn admits(&self, candidate: &Candidate) -> bool {
        !is_of_server(candidate) || self.has(candidate)
    }

    pub fn last_success(&self) -> Option<u64> {
        Some(self.last_success.load(Ordering::Relaxed)).filter(|id| *id != NO_CANDIDATE)
    }

    /// Records the last success; returns true when that changes the preferred candidate.
    pub fn note_success(&self, id: u64) -> bool {
        // Storing unconditionally would bounce the cache line between cores on every call of a hot tool.
        let changed = self.last_success.load(Ordering::Relaxed) != id;
        if changed {
            self.last_success.store(id, Ordering::Relaxed);
        }
        changed
    }

    /// Prefers a candidate that an earlier process preferred after the present one.
    pub(super) fn recall(&self, candidate: &Candidate) {
        let Some(since) = candidate.stats.preferred_since().filter(|_| self.has(candidate)) else { return };
        let last = self.last_success();
        let leader = self.candidates.iter().find(|one| Some(one.id) == last);
        if leader.is_none_or(|leader| leader.stats.preferred_since() < Some(since)) {
            self.note_success(candidate.id);
        }
    }
}
