//! Near names: suggestions for a name that no candidate has.

use super::Snapshot;
use std::sync::Arc;
use toolhub_text::near_by_letters;

/// Up to `limit` names like `wanted`, the most alike first.
pub fn nearest(snapshot: &Snapshot, wanted: &str, limit: usize) -> Vec<Arc<str>> {
    let names = snapshot.names().map(|one| (one.letters, &*one.name, &one.name));
    near_by_letters(wanted, names, limit).into_iter().cloned().collect()
}
