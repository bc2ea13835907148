//! What a caller may ask for in one call.

use super::Source;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How several candidates are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The hub decides.
    Auto,
    /// A race: the first success wins.
    First,
    /// Run a batch, keep every success.
    All,
    /// One after another.
    Fallback,
}

impl Strategy {
    pub const ALL: [Strategy; 4] = [Strategy::Auto, Strategy::First, Strategy::All, Strategy::Fallback];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::First => "first",
            Strategy::All => "all",
            Strategy::Fallback => "fallback",
        }
    }

    pub fn parse(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)
    }
}

/// The options of one call; `None` means the hub's default.
#[derive(Clone, Debug, Default)]
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
}
