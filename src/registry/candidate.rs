//! One provider of a tool name.

use std::sync::Arc;
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
}

impl Candidate {
    /// A provider with the usual priority of its source and without a limit.
    pub fn new(id: u64, source: Source, server: Option<Arc<str>>, tool: Arc<dyn Tool>) -> Self {
        let (priority, stats) = (source.default_priority(), Arc::default());
        Candidate { id, source, server, priority, tool, gate: None, stats, variant: 1 }
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
