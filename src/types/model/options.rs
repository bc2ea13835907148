//! What a caller may ask for in one call.

use super::{Safety, Source};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use toolhub_text::pattern::PatternList;

crate::named! {
    /// How several candidates are used.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Strategy {
        /// The hub decides.
        #[default]
        Auto = "auto",
        /// A race: the first success wins.
        First = "first",
        /// Run a batch, keep every success.
        All = "all",
        /// One after another.
        Fallback = "fallback",
    }
}

crate::named! {
    /// Who comes first among the candidates of one name.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Prefer {
        /// The lower priority.
        #[default]
        Priority = "priority",
        /// Tools of MCP servers, whatever the priorities.
        Mcps = "mcps",
    }
}

crate::named! {
    /// What becomes of a server's tool that has the name of a native one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Shadow {
        /// It is a candidate, and explanations say so.
        #[default]
        Report = "report",
        /// It is never called.
        Deny = "deny",
    }
}

/// The options of one call; `None` means the hub's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallOptions {
    pub strategy: Option<Strategy>,
    /// For one candidate.
    pub timeout: Option<Duration>,
    /// For the whole call.
    pub deadline: Option<Duration>,
    pub max_parallel: Option<usize>,
    pub hedge_after: Option<Duration>,
    pub source: Option<Source>,
    pub server: Option<Arc<str>>,
    pub prefer: Option<Prefer>,
    /// The patterns that a provider has to match, where the permissions of the call allow some providers of a tool only.
    pub allowed: Option<Arc<PatternList>>,
    /// How careful a caller may have to be with a provider at most; `None`: any provider.
    pub safety: Option<Safety>,
    /// For whom the call is made, where that matters. Calls of different principals never share a result.
    pub principal: Option<Arc<str>>,
    /// What the credentials of the principal grant. Calls with different rights never share a result, but are of one run.
    pub rights: Option<Arc<str>>,
    /// The run that the call is a part of.
    pub run: Option<Arc<str>>,
    /// A model asked for the tool: the first match answers alone, the others are its fallback.
    pub is_routed: bool,
}

/// What is kept of a call whose arguments are not: digests of what makes it the same call.
#[derive(Clone, Debug, Default)]
pub struct KeyDigests {
    pub key: Arc<str>,
    /// Of the arguments alone, by which an effect is found where it has happened.
    pub arguments: Arc<str>,
}
