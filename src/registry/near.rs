//! Near names: what was probably meant by a name that nobody has.

use super::Snapshot;
use crate::near::{ALIKE, folded, likeness};
use std::sync::Arc;

/// Up to `limit` names like `wanted`, the most alike first.
pub fn nearest(snapshot: &Snapshot, wanted: &str, limit: usize) -> Vec<Arc<str>> {
    let wanted = folded(wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut hits: Vec<(f64, Arc<str>)> = snapshot
        .folded_names()
        .iter()
        .filter_map(|(folded, name)| {
            let likeness = likeness(&wanted, folded);
            (likeness >= ALIKE).then(|| (likeness, name.clone()))
        })
        .collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    hits.into_iter().take(limit).map(|(_, name)| name).collect()
}
