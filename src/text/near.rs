//! Near names: how much one name is like another, so that an error can suggest what was probably meant.
//!
//! Tools, servers, labels, arguments and configuration keys all use this one measure. A caller's event loop waits for it, so
//! only the names whose letters are most like those of the wanted one are compared, and of long names only the start.

use super::words::name_words;

/// Names at or above this likeness are worth suggesting.
const ALIKE: f64 = 0.72;
/// Longer names are compared by their start: the cost stays bounded for a name of 10 kB.
const COMPARED: usize = 80;
/// Names that are compared; of more, those with the most likely letters.
const MOST_COMPARED: usize = 100;
/// What a shared start counts for, relative to a typo.
const SAME_START: f64 = 0.9;

/// The letters of a name, without case and order, each counted up to two; and its length. Quick to make and to compare.
#[derive(Clone, Copy, Debug)]
pub struct LetterSet {
    /// Two bits for each of 32 kinds of bytes: none, `01` for one, `11` for more.
    letters: u64,
    len: u32,
}

impl LetterSet {
    pub fn of(name: &str) -> Self {
        let start = &name.as_bytes()[..name.len().min(COMPARED)];
        let letters = start.iter().fold(0_u64, |letters, byte| {
            let first = 1 << (byte.to_ascii_lowercase() % 32 * 2);
            letters | if letters & first == 0 { first } else { first << 1 }
        });
        LetterSet { letters, len: start.len() as u32 }
    }

    /// How likely a name is near, by the share of letters that both have. One with all letters of the wanted name may have more
    /// words than it.
    fn likeness(self, name: LetterSet) -> f64 {
        let shared = f64::from((self.letters & name.letters).count_ones());
        let similar =
            2.0 * shared / f64::from((self.letters.count_ones() + name.letters.count_ones()).max(1));
        let longest = f64::from(self.len.max(name.len).max(1));
        let as_long = 1.0 - f64::from(self.len.abs_diff(name.len)) / longest;
        let has_all = self.letters & !name.letters == 0;
        (similar * (0.5 + 0.5 * as_long)).max(if has_all { 0.6 + 0.4 * as_long } else { 0.0 })
    }
}

/// A name in the form that is compared.
struct NearName {
    /// Without case, and not longer than [`COMPARED`] characters.
    folded: String,
    /// The words that are long enough to mean something.
    words: Vec<String>,
}

impl NearName {
    fn new(name: &str) -> Self {
        let start = name.char_indices().nth(COMPARED).map_or(name, |(at, _)| &name[..at]);
        let mut words = name_words(start);
        words.retain(|word| word.len() > 2);
        NearName { folded: start.to_lowercase().chars().take(COMPARED).collect(), words }
    }

    /// From 0 to 1; `None` when it is too low to be worth suggesting.
    fn likeness(&self, other: &NearName) -> Option<f64> {
        let longest = self.folded.chars().count().max(other.folded.chars().count());
        let slips = strsim::osa_distance(&self.folded, &other.folded);
        let share = 1.0 - slips as f64 / longest.max(1) as f64;
        // One slip is always near, except in names of one or two characters.
        let typo = if slips <= 1 && longest >= 3 { share.max(ALIKE) } else { share };
        let same_start = strsim::jaro_winkler(&self.folded, &other.folded) * SAME_START;
        let likeness = typo.max(same_start).max(self.overlap(other));
        (likeness >= ALIKE && !self.folded.is_empty()).then_some(likeness)
    }

    /// `search` for `search_web`, `web_search` for `search_web`: models drop and swap words.
    fn overlap(&self, other: &NearName) -> f64 {
        let shared = self.words.iter().filter(|word| other.words.contains(word)).count();
        match shared {
            0 => 0.0,
            _ => 0.6 + 0.4 * (shared as f64 / self.words.len().max(other.words.len()) as f64),
        }
    }
}

/// Up to `limit` of the names that were probably meant, the most alike first; equal ones in the order given.
pub fn near_names<'a, N>(wanted: &str, names: impl Iterator<Item = (&'a str, N)>, limit: usize) -> Vec<N> {
    near_by_letters(wanted, names.map(|(text, name)| (LetterSet::of(text), text, name)), limit)
}

/// The same, for names whose letters are known already: of very many names, few have to be read.
pub fn near_by_letters<'a, N>(
    wanted: &str,
    names: impl Iterator<Item = (LetterSet, &'a str, N)>,
    limit: usize,
) -> Vec<N> {
    let letters = LetterSet::of(wanted);
    let likely = names.enumerate().map(|(at, (known, text, name))| (letters.likeness(known), at, text, name));
    let mut likely: Vec<(f64, usize, &str, N)> = likely.collect();
    if likely.len() > MOST_COMPARED {
        likely.select_nth_unstable_by(MOST_COMPARED, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        likely.truncate(MOST_COMPARED);
    }
    let wanted = NearName::new(wanted);
    let near = |(_, at, text, name)| Some((wanted.likeness(&NearName::new(text))?, at, name));
    let mut found: Vec<(f64, usize, N)> = likely.into_iter().filter_map(near).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(limit).map(|(_, _, name)| name).collect()
}

/// The one of these names that was probably meant; the first of equally good ones.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near_names(wanted, names.map(|name| (name, name)), 1).pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn likeness(a: &str, b: &str) -> Option<f64> {
        NearName::new(a).likeness(&NearName::new(b))
    }

    #[test]
    fn typos_swapped_and_dropped_words_are_near() {
        for (wanted, name) in [
            ("serach_web", "search_web"),
            ("evn", "env"),
            ("urls", "url"),
            ("web_search", "search_web"),
            ("webSearch", "search_web"),
            ("get_time", "get_current_time"),
            ("getTime", "get_current_time"),
        ] {
            assert!(likeness(wanted, name).is_some(), "{wanted} ~ {name}");
        }
        assert_eq!(likeness("calculate", "send_email"), None);
        assert_eq!(likeness("ls", "cd"), None);
        assert_eq!(likeness("a", "b"), None);
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

    #[test]
    fn the_best_come_first_and_equals_keep_their_order() {
        let names = ["search_a", "search_b", "serach", "other"];
        let near = |limit| near_names("search", names.iter().map(|name| (*name, *name)), limit);
        assert_eq!(near(9), ["search_a", "search_b", "serach"]);
        assert_eq!(near(1), ["search_a"]);
    }

    #[test]
    fn a_near_name_is_found_among_very_many() {
        let mut names: Vec<String> = (0..50_000).map(|number| format!("tool_{number}")).collect();
        names.extend(["search_web", "get_current_time"].map(str::to_owned));
        for (wanted, meant) in [
            ("serach_web", "search_web"),
            ("web_search", "search_web"),
            ("get_time", "get_current_time"),
            ("tool_4999", "tool_4999"),
            ("tol_31415", "tool_31415"),
        ] {
            let near = near_names(wanted, names.iter().map(|name| (name.as_str(), name.as_str())), 1);
            assert_eq!(near, [meant], "{wanted}");
        }
    }

    proptest! {
        #[test]
        fn few_names_are_ordered_as_by_comparing_all(wanted in "[a-d_]{1,8}", names in prop::collection::vec("[a-d_]{0,8}", 0..20)) {
            let near = NearName::new(&wanted);
            let mut all: Vec<(f64, usize)> =
                names.iter().enumerate().filter_map(|(at, name)| Some((near.likeness(&NearName::new(name))?, at))).collect();
            all.sort_by(|a, b| b.0.total_cmp(&a.0));
            let expected: Vec<usize> = all.into_iter().take(3).map(|(_, at)| at).collect();
            let found = near_names(&wanted, names.iter().enumerate().map(|(at, name)| (name.as_str(), at)), 3);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_name_is_like_itself_and_likeness_goes_both_ways(a in "\\PC{1,100}", b in "\\PC{0,100}") {
            prop_assert_eq!(likeness(&a, &a), Some(1.0));
            let (ab, ba) = (likeness(&a, &b), likeness(&b, &a));
            prop_assert_eq!(ab.is_some(), ba.is_some());
        }
    }
}
