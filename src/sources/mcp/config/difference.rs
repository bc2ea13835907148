//! What another reading of the configuration changes, for a reload that leaves the rest alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ServerConfig;

/// The way from an old list of servers to a new one; each part in the order of its list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    pub added: Vec<ServerConfig>,
    pub removed: Vec<Arc<str>>,
    /// As they are now.
    pub changed: Vec<ServerConfig>,
    pub same: Vec<Arc<str>>,
}

/// Compares by id. In each list the later one of two servers with the same id counts.
pub fn changed(old: &[ServerConfig], new: &[ServerConfig]) -> Difference {
    let new = later_wins(new.iter().cloned());
    let before: HashMap<&str, &ServerConfig> = old.iter().map(|server| (&*server.id, server)).collect();
    let after: HashSet<&str> = new.iter().map(|server| &*server.id).collect();
    let mut difference = Difference::default();
    let gone = later_wins(old.iter().cloned()).into_iter().filter(|server| !after.contains(&*server.id));
    difference.removed = gone.map(|server| server.id).collect();
    for server in new {
        match before.get(&*server.id) {
            None => difference.added.push(server),
            Some(same) if **same == server => difference.same.push(server.id),
            Some(_) => difference.changed.push(server),
        }
    }
    difference
}

/// One server for each id: a later file overrides an earlier one. A server keeps the place of its first
/// mention, so the order of a list is stable when one entry changes.
pub fn later_wins(servers: impl IntoIterator<Item = ServerConfig>) -> Vec<ServerConfig> {
    let mut positions: HashMap<Arc<str>, usize> = HashMap::new();
    let mut kept: Vec<ServerConfig> = Vec::new();
    for server in servers {
        match positions.get(&server.id) {
            Some(place) => kept[*place] = server,
            None => {
                positions.insert(server.id.clone(), kept.len());
                kept.push(server);
            }
        }
    }
    kept
}
