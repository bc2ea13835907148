//! Where a tool comes from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The three sources, in the order of their default priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Tools,
    Skills,
    Mcps,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Tools, Source::Skills, Source::Mcps];

    pub fn name(self) -> &'static str {
        match self {
            Source::Tools => "tools",
            Source::Skills => "skills",
            Source::Mcps => "mcps",
        }
    }

    /// Lower comes first.
    pub fn default_priority(self) -> i32 {
        match self {
            Source::Tools => 0,
            Source::Skills => 1,
            Source::Mcps => 2,
        }
    }

    pub fn parse(name: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.name() == name)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
