//! One provider of a tool name.

use crate::limit::Gate;
use crate::model::{Source, ToolSpec};
use crate::stats::{CandidateStats, StatsKey};
use crate::tool::Tool;
use std::sync::Arc;

/// What makes a candidate the same one when it is registered again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CandidateKey {
    pub name: Arc<str>,
    pub source: Source,
    pub server: Option<Arc<str>>,
}

pub struct Candidate {
    /// Its place in the order of registration, which for the tools of a server is the order of the servers; a replacement
    /// takes over the place of the one it replaces.
    pub id: u64,
    pub source: Source,
    /// The id of the MCP server, for MCP tools.
    pub server: Option<Arc<str>>,
    /// Lower comes first.
    pub priority: i32,
    pub tool: Arc<dyn Tool>,
    /// The limit of this one tool, when it has one.
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

    /// Under which its numbers are kept.
    pub fn stats_key(&self) -> StatsKey {
        StatsKey { tool: self.spec().name.clone(), source: self.source, server: self.server.clone() }
    }

    /// `tools`, or `mcps:excel` for a tool of a server: how texts name the provider.
    pub fn label(&self) -> String {
        match &self.server {
            Some(server) => format!("{}:{server}", self.source),
            None => self.source.name().to_owned(),
        }
    }
}
