//! How much of a result a prompt gets, by the kind of tool that gave it.

use toolhub_types::kind::ToolKind;

/// Each is an option of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In characters, by the place of the kind in [`Limits::NAMES`].
    chars: [usize; 5],
    /// How many hits of a list of hits are kept.
    hits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { chars: [100, 200, 500, 1_000, 500], hits: 3 }
    }
}

impl Limits {
    /// The names of the kinds that have a limit of their own; the last one is for all others.
    pub const NAMES: [&'static str; 5] = ["calculation", "time", "search", "history", "other"];

    /// Sets the limit of the kind with this name; false if there is none.
    pub fn set(&mut self, kind: &str, limit: usize) -> bool {
        let own = Self::NAMES.iter().position(|name| *name == kind);
        own.map(|own| self.chars[own] = limit).is_some()
    }

    /// The limit in characters for results of a kind.
    pub fn of(&self, kind: ToolKind) -> usize {
        let own = Self::NAMES.iter().position(|name| *name == kind.name());
        self.chars[own.unwrap_or(Self::NAMES.len() - 1)]
    }

    /// How many elements of a list are kept, for kinds whose results are lists of hits.
    pub fn hits_of(&self, kind: ToolKind) -> Option<usize> {
        (kind == ToolKind::Search).then_some(self.hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_the_contract() {
        let limits = Limits::default();
        use ToolKind::{Calculation, Extraction, History, Other, Search, Time};
        let all = [Calculation, Time, Search, History, Extraction, Other];
        assert_eq!(all.map(|kind| limits.of(kind)), [100, 200, 500, 1000, 500, 500]);
        assert_eq!(all.map(|kind| limits.hits_of(kind)), [None, None, Some(3), None, None, None]);
    }
}
