//! What a caller sees: the one rule that `tools/list`, search, `tools/describe` and `tools/call` apply.
//!
//! A tool that a view hides does not exist for the caller: the answers about it are those about an unknown name.

use crate::model::Safety;
use crate::pattern::PatternList;
use crate::registry::{Candidate, NameEntry};
use std::sync::Arc;

/// The highest number of tools that `SearchMode::Auto` lists one by one.
pub const AUTO_SEARCH_ABOVE: usize = 100;

/// Whether tools are listed one by one, or found by `search_tools`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Search mode as soon as a view shows more than [`AUTO_SEARCH_ABOVE`] tools.
    #[default]
    Auto,
    On,
    Off,
}

/// How much a view lets its callers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EffectsAllowed {
    /// All tools.
    #[default]
    All,
    /// Tools that are known to be harmless.
    Harmless,
    /// Tools that are not known to act.
    NotActing,
}

impl EffectsAllowed {
    fn admits(self, candidate: &Candidate) -> bool {
        let safety = candidate.spec().effects.safety;
        match self {
            EffectsAllowed::All => true,
            EffectsAllowed::NotActing => safety != Safety::MayAct,
            EffectsAllowed::Harmless => safety == Safety::Harmless,
        }
    }
}

/// One view of the hub.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Empty for the one that shows everything.
    pub name: Arc<str>,
    /// The tools that it shows; `None` shows all.
    pub tools: Option<Arc<PatternList>>,
    pub effects: EffectsAllowed,
    /// The calls that one principal may make within a minute.
    pub calls_per_minute: Option<u32>,
    /// Listed beside the tools of search mode, in this order.
    pub core: Vec<Arc<str>>,
    pub search_mode: SearchMode,
    /// The instructions of the server, in this view.
    pub instructions: Option<Arc<str>>,
}

impl View {
    /// The view that shows the whole hub.
    pub fn everything() -> Self {
        View::default()
    }

    /// Whether callers see the tool: it is for models, and the view admits at least one of its providers.
    pub fn sees(&self, entry: &NameEntry) -> bool {
        !entry.is_hidden() && entry.candidates.iter().any(|candidate| self.admits(candidate))
    }

    /// Whether callers may reach this provider of a tool.
    pub fn admits(&self, candidate: &Candidate) -> bool {
        let name = &candidate.spec().name;
        self.effects.admits(candidate)
            && self.tools.as_ref().is_none_or(|tools| tools.allows(name, candidate.server.as_deref()))
    }
}
