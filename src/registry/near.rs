//! Near names: what was probably meant by a name that nobody has.

use super::Snapshot;
use std::sync::Arc;

/// Names above this likeness are worth showing.
const ALIKE: f64 = 0.72;
/// Longer names are compared by their start: the cost stays bounded for a name of 10 kB.
const COMPARED: usize = 80;

/// Up to `limit` names like `wanted`, the most alike first.
pub fn nearest(snapshot: &Snapshot, wanted: &str, limit: usize) -> Vec<Arc<str>> {
    let wanted: String = wanted.to_lowercase().chars().take(COMPARED).collect();
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

fn likeness(wanted: &str, name: &str) -> f64 {
    let end = name.char_indices().nth(COMPARED).map_or(name.len(), |(at, _)| at);
    let name = &name[..end];
    let typo = strsim::normalized_damerau_levenshtein(wanted, name);
    let same_start = strsim::jaro_winkler(wanted, name) * 0.9;
    // `search` for `search_web`, `web_search` for `search_web`: models drop and swap words.
    let (a, b) = (words(wanted), words(name));
    let shared = a.iter().filter(|word| b.contains(word)).count();
    let overlap = if shared == 0 { 0.0 } else { 0.6 + 0.4 * (shared as f64 / a.len().max(b.len()) as f64) };
    typo.max(same_start).max(overlap)
}

fn words(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect()
}

#[cfg(test)]
mod tests {
    use super::likeness;

    #[test]
    fn typos_swapped_and_dropped_words_are_near() {
        for (wanted, name) in
            [("serach_web", "search_web"), ("web_search", "search_web"), ("get_time", "get_current_time")]
        {
            assert!(likeness(wanted, name) >= super::ALIKE, "{wanted} ~ {name}: {}", likeness(wanted, name));
        }
        assert!(likeness("calculate", "send_email") < super::ALIKE);
    }
}
