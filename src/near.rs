//! Near names: how much one name is like another, so that a wrong one can be answered with what was probably meant.

/// Names of this likeness are worth showing.
pub const ALIKE: f64 = 0.72;
/// Longer names are compared by their start: the cost stays bounded for a name of 10 kB.
const COMPARED: usize = 80;

/// A name as it is compared: without case, and not longer than what is looked at.
pub fn folded(name: &str) -> String {
    name.to_lowercase().chars().take(COMPARED).collect()
}

/// From 0 to 1; both names folded.
pub fn likeness(wanted: &str, name: &str) -> f64 {
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

/// The one of these names that was probably meant.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(wanted);
    if wanted.is_empty() {
        return None;
    }
    names
        .map(|name| (likeness(&wanted, &folded(name)), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

fn words(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_swapped_and_dropped_words_are_near() {
        for (wanted, name) in
            [("serach_web", "search_web"), ("web_search", "search_web"), ("get_time", "get_current_time")]
        {
            assert!(likeness(wanted, name) >= ALIKE, "{wanted} ~ {name}: {}", likeness(wanted, name));
        }
        assert!(likeness("calculate", "send_email") < ALIKE);
    }

    #[test]
    fn the_nearest_name_is_found_in_any_style() {
        let names = ["query", "max_results", "filepath"];
        for (wanted, meant) in [
            ("maxResults", Some("max_results")),
            ("results", Some("max_results")),
            ("file_path", Some("filepath")),
            ("Query", Some("query")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names.into_iter()), meant, "{wanted}");
        }
    }
}
