//! Where a tool comes from.

use serde::{Deserialize, Serialize};
use std::fmt;

crate::named! {
    /// The three sources, in the order of their default priority.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Source {
        Tools = "tools",
        Skills = "skills",
        Mcps = "mcps",
    }
}

impl Source {
    /// Lower comes first.
    pub fn default_priority(self) -> i32 {
        match self {
            Source::Tools => 0,
            Source::Skills => 1,
            Source::Mcps => 2,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
