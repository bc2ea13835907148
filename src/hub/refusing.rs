//! Tools of servers that may not be called for now, and why: they are in no list and no prompt, and whoever calls one all
//! the same is told.

use super::Hub;
use crate::error::{ErrorKind, HubError};
use crate::model::Source;
use crate::registry::Filter;
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Why a tool is refused, by its name.
type Reasons = HashMap<Arc<str>, String>;

/// By server.
#[derive(Default)]
pub(super) struct Refusals(RwLock<BTreeMap<Arc<str>, Reasons>>);

impl Refusals {
    /// The error for a call that means a refused tool.
    pub fn error(&self, name: &str, filter: Filter<'_>) -> Option<HubError> {
        if filter.source.is_some_and(|source| source != Source::Mcps) {
            return None;
        }
        let all = self.0.read();
        let mut meant =
            all.iter().filter(|(server, _)| filter.server.is_none_or(|wanted| wanted == &***server));
        let why = meant.find_map(|(_, refused)| refused.get(name))?;
        Some(HubError::new(ErrorKind::NotAllowed, why.clone()))
    }
}

impl Hub {
    /// Why tools of a server are refused.
    pub fn refused(&self, server: &str) -> Vec<String> {
        let all = self.refusals.0.read();
        let mut reasons: Vec<String> =
            all.get(server).into_iter().flat_map(HashMap::values).cloned().collect();
        reasons.sort_unstable();
        reasons
    }

    /// From now on calls of these tools of a server are refused with these sentences, and of no others.
    pub fn refuse(&self, server: &Arc<str>, refused: Reasons) {
        let mut all = self.refusals.0.write();
        match refused.is_empty() {
            true => drop(all.remove(server)),
            false => drop(all.insert(server.clone(), refused)),
        }
    }
}
