//! One provider of a tool name.

use crate::limit::Gate;
use crate::model::{Source, ToolSpec};
use crate::stats::{CandidateStats, StatsKey};
use crate::tool::Tool;
use std::sync::Arc;

/// The identity of a candidate: registering the same key again replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CandidateKey {
    pub name: Arc<str>,
    pub source: Source,
    pub server: Option<Arc<str>>,
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
}

impl Candidate {
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    pub fn key(&self) -> CandidateKey {
        CandidateKey { name: self.spec().name.clone(), source: self.source, server: self.server.clone() }
    }

    /// The key of its statistics in the store.
    pub fn stats_key(&self) -> StatsKey {
        StatsKey { tool: self.spec().name.clone(), source: self.source, server: self.server.clone() }
    }

    /// Names the provider in texts: `tools`, or `mcps:excel` for a server's tool.
    pub fn label(&self) -> String {
        match &self.server {
            Some(server) => format!("{}:{server}", self.source),
            None => self.source.name().to_owned(),
        }
    }
}
