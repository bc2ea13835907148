//! One provider of a tool name, and all of them.

use super::identity::CandidateDefinition;
use super::namesakes::Portraits;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use toolhub_types::limit::Gate;
use toolhub_types::model::{Source, ToolSpec};
use toolhub_types::stats::{CandidateStats, StatsKey};
use toolhub_types::tool::Tool;

/// Selects candidates of a name; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    pub source: Option<Source>,
    pub server: Option<&'a str>,
}

impl Filter<'_> {
    pub fn matches(&self, candidate: &Candidate) -> bool {
        self.source.is_none_or(|source| candidate.source == source)
            && self.server.is_none_or(|server| candidate.server.as_deref() == Some(server))
    }
}

/// Which candidates of the same name, source and server a new one replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplaceRule {
    /// Those that are the same tool; see [`Candidate::is_same`].
    #[default]
    Same,
    /// All of them.
    All,
    /// The one that was made from this object, and those that are the same tool.
    Object(usize),
}

pub struct Candidate {
    /// The registration order; for a server's tools, the order of the servers. A replacement keeps the id of the candidate
    /// that it replaces.
    pub id: u64,
    pub source: Source,
    /// The id of the MCP server, for MCP tools.
    pub server: Option<Arc<str>>,
    /// Lower comes first.
    pub priority: i32,
    pub tool: Arc<dyn Tool>,
    /// The concurrency limit of this tool, if it has one.
    pub gate: Option<Arc<Gate>>,
    pub stats: Arc<CandidateStats>,
    /// Counts the candidates of one name, source and server. The registry assigns it; the first one has 1.
    pub variant: u32,
    /// See [`Candidate::definition`].
    pub definition: OnceLock<Arc<CandidateDefinition>>,
}

impl Candidate {
    /// A provider with the usual priority of its source and without a limit.
    pub fn new(id: u64, source: Source, server: Option<Arc<str>>, tool: Arc<dyn Tool>) -> Self {
        let (priority, stats) = (source.default_priority(), Arc::default());
        let definition = OnceLock::new();
        Candidate { id, source, server, priority, tool, gate: None, stats, variant: 1, definition }
    }

    /// The same provider without limits, and with statistics of its own: what happens to it is not learnt.
    pub fn apart(&self) -> Candidate {
        let (priority, variant) = (self.priority, self.variant);
        let same = Candidate::new(self.id, self.source, self.server.clone(), self.tool.clone());
        Candidate { priority, variant, ..same }
    }

    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// What it is: made when it is first needed.
    pub fn definition(&self) -> &Arc<CandidateDefinition> {
        self.definition.get_or_init(|| Arc::new(CandidateDefinition::of(self)))
    }

    /// Whether a server lists it. A tool of the program under the id of a server has an identity, and the user put it there.
    pub(super) fn is_of_server(&self) -> bool {
        self.source == Source::Mcps && self.server.is_some() && self.tool.identity().is_none()
    }

    /// Whether both belong to the same source and server.
    pub(super) fn is_beside(&self, other: &Candidate) -> bool {
        self.source == other.source && self.server == other.server
    }

    /// Whether both are the same tool, so that registering one of them replaces the other. Servers and folders list a name
    /// once; tools of the program have an identity.
    fn is_same(&self, other: &Candidate) -> bool {
        match (self.tool.identity(), other.tool.identity()) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Whether registering this candidate removes `old`, which has the same name.
    pub(super) fn replaces(&self, old: &Candidate, replacement: ReplaceRule) -> bool {
        let is_meant = match replacement {
            ReplaceRule::Same => false,
            ReplaceRule::All => true,
            ReplaceRule::Object(object) => old.tool.identity().is_some_and(|old| old.object == object),
        };
        self.is_beside(old) && (is_meant || self.is_same(old))
    }

    /// The key of its statistics in the store.
    pub fn stats_key(&self) -> StatsKey {
        StatsKey {
            tool: self.spec().name.clone(),
            source: self.source,
            server: self.server.clone(),
            variant: self.variant,
        }
    }

    /// Names the provider in texts: `tools`, `mcps:excel` for a server's tool, `tools#2` for the second one of a source.
    pub fn label(&self) -> String {
        // By hand: every call asks for it, and `format!` takes five times as long.
        let mut label = self.source.name().to_owned();
        if let Some(server) = &self.server {
            label.push(':');
            label.push_str(server);
        }
        if self.variant > 1 {
            label.push_str(&format!("#{}", self.variant));
        }
        label
    }
}

/// Stands for "no candidate has succeeded yet".
const NO_CANDIDATE: u64 = u64::MAX;

/// How prompts show a tool: a text for each way, made when it is first needed.
pub type ShownTexts = OnceLock<Arc<[OnceLock<Box<str>>; 4]>>;

/// The candidates of one name, in registration order.
#[derive(Clone)]
pub struct NameEntry {
    /// What it is listed and called as.
    pub name: Arc<str>,
    pub candidates: Vec<Arc<Candidate>>,
    /// The different tools of this name, in the order of preference; empty when all candidates are one tool.
    pub tools: Vec<Arc<NameEntry>>,
    /// Why they are one tool, or several.
    pub(super) portraits: Portraits,
    /// The lowest id of its candidates so far.
    pub(super) first_id: u64,
    /// The version of the registry at which this name last changed.
    pub changed_at: u64,
    /// Its texts in prompts since then.
    pub shown: ShownTexts,
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
            portraits: Portraits::new(),
            first_id,
            changed_at: 0,
            shown: ShownTexts::new(),
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
        let of_servers = usable.iter().filter(|one| one.is_of_server());
        let first = of_servers.min_by_key(|one| (one.priority, one.id))?;
        self.tools.iter().find(|tool| tool.is_apart() && tool.has(first))
    }

    /// Whether a call that means this tool may use a candidate of the name.
    pub fn admits(&self, candidate: &Candidate) -> bool {
        !candidate.is_of_server() || self.has(candidate)
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
    pub(super) fn restore_preference(&self, candidate: &Candidate) {
        let Some(since) = candidate.stats.preferred_since().filter(|_| self.has(candidate)) else { return };
        let last = self.last_success();
        let leader = self.candidates.iter().find(|one| Some(one.id) == last);
        if leader.is_none_or(|leader| leader.stats.preferred_since() < Some(since)) {
            self.note_success(candidate.id);
        }
    }
}
