//! How much of a result a prompt gets, by the kind of tool that gave it.

use toolhub_types::kind::ToolKind;

/// The limits in characters; each is an option of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub calculation: usize,
    pub time: usize,
    pub search: usize,
    pub history: usize,
    pub other: usize,
    /// How many hits of a list of hits are kept.
    pub hits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { calculation: 100, time: 200, search: 500, history: 1000, other: 500, hits: 3 }
    }
}

impl Limits {
    /// The names of the kinds that have a limit of their own.
    pub const NAMES: [&'static str; 5] = ["calculation", "time", "search", "history", "other"];

    /// Sets the limit of the kind with this name; false if there is none.
    pub fn set(&mut self, kind: &str, limit: usize) -> bool {
        let own = match kind {
            "calculation" => &mut self.calculation,
            "time" => &mut self.time,
            "search" => &mut self.search,
            "history" => &mut self.history,
            "other" => &mut self.other,
            _ => return false,
        };
        *own = limit;
        true
    }

    /// The limit in characters for results of a kind.
    pub fn of(&self, kind: ToolKind) -> usize {
        match kind {
            ToolKind::Calculation => self.calculation,
            ToolKind::Time => self.time,
            ToolKind::Search => self.search,
            ToolKind::History => self.history,
            ToolKind::Extraction | ToolKind::Other => self.other,
        }
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
