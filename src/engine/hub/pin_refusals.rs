//! Tools of servers that changed after they were pinned. They are in no list and no prompt; a call of one gets the reason.

use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use toolhub_registry::Filter;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::model::Source;

/// Why a tool is refused, by its name.
pub type RefusalReasons = HashMap<Arc<str>, String>;

/// By server.
#[derive(Default)]
pub(super) struct PinRefusals(RwLock<BTreeMap<Arc<str>, RefusalReasons>>);

impl PinRefusals {
    /// The error for a call that means a refused tool.
    pub fn error(&self, name: &str, filter: Filter<'_>) -> Option<HubError> {
        if filter.source.is_some_and(|source| source != Source::Mcps) {
            return None;
        }
        let all = self.0.read();
        let mut matching =
            all.iter().filter(|(server, _)| filter.server.is_none_or(|wanted| wanted == &***server));
        let why = matching.find_map(|(_, refused)| refused.get(name))?;
        Some(HubError::new(ErrorKind::NotAllowed, why.clone()))
    }

    /// Why tools of a server are refused, in order.
    pub fn reasons(&self, server: &str) -> Vec<String> {
        let all = self.0.read();
        let mut reasons: Vec<String> =
            all.get(server).into_iter().flat_map(HashMap::values).cloned().collect();
        reasons.sort_unstable();
        reasons
    }

    pub fn replace(&self, server: &Arc<str>, reasons: RefusalReasons) {
        let mut all = self.0.write();
        match reasons.is_empty() {
            true => drop(all.remove(server)),
            false => drop(all.insert(server.clone(), reasons)),
        }
    }
}
