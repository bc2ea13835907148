//! Near names: how much one name is like another, so that an error can suggest what was probably meant.
//!
//! Tools, servers, labels, arguments and configuration keys all use this one measure. The work is bounded whatever the number
//! and the length of names, because a caller's event loop waits for it: of many names, those that share the most letters with
//! the wanted one are looked at, and those with the highest upper bound are compared. Work is counted in steps of about ten
//! nanoseconds; a stage that has used its steps ends with the best names so far.

use super::words::name_words;

/// Names at or above this likeness are worth suggesting.
const ALIKE: f64 = 0.72;
/// Longer names are compared by their start: the cost stays bounded for a name of 10 kB.
const COMPARED: usize = 80;
/// Names that are looked at. Of more, those with the most likely letters.
const LOOKED_AT: usize = 1_000;
/// Names whose letters are compared, one step each; later ones are not suggested.
const SCAN_STEPS: usize = 100_000;
/// The steps of looking at a name, without its characters.
const LOOK: usize = 20;
const LOOK_STEPS: usize = 50_000;
/// One step for each pair of characters that an exact comparison compares.
const EXACT_STEPS: usize = 60_000;
/// How far an upper bound may lie below what it bounds, by rounding.
const ROUNDING: f64 = 1e-9;
/// What a shared start counts for, relative to a typo.
const SAME_START: f64 = 0.9;

/// A name in the form that is compared.
#[derive(Clone, Debug)]
struct NearName {
    /// Without case, and not longer than [`COMPARED`] characters.
    folded: String,
    chars: usize,
    /// The words that are long enough to mean something.
    words: Vec<String>,
    /// How often each kind of character is in it.
    letters: [u8; 32],
}

impl NearName {
    fn new(name: &str) -> Self {
        let start = name.char_indices().nth(COMPARED).map_or(name, |(at, _)| &name[..at]);
        let folded: String = start.to_lowercase().chars().take(COMPARED).collect();
        let mut words = name_words(start);
        words.retain(|word| word.len() > 2);
        let mut letters = [0; 32];
        folded.chars().for_each(|c| letters[c as usize % 32] += 1);
        NearName { chars: folded.chars().count(), folded, words, letters }
    }

    /// What the likeness is at most; `None` when that is too low to be worth suggesting.
    fn at_most(&self, other: &NearName) -> Option<f64> {
        let most = self.overlap(other).max(self.bound(other));
        (most >= ALIKE).then_some(most)
    }

    /// From 0 to 1; `None` when it is too low to be worth suggesting.
    fn likeness(&self, other: &NearName) -> Option<f64> {
        let mut likeness = self.overlap(other);
        if self.bound(other) > likeness {
            let slips = strsim::damerau_levenshtein(&self.folded, &other.folded);
            let typo = typo(slips as f64, self.chars.max(other.chars) as f64);
            let same_start = strsim::jaro_winkler(&self.folded, &other.folded) * SAME_START;
            likeness = likeness.max(typo).max(same_start);
        }
        (likeness >= ALIKE).then_some(likeness)
    }

    /// `search` for `search_web`, `web_search` for `search_web`: models drop and swap words.
    fn overlap(&self, other: &NearName) -> f64 {
        let shared = self.words.iter().filter(|word| other.words.contains(word)).count();
        match shared {
            0 => 0.0,
            _ => 0.6 + 0.4 * (shared as f64 / self.words.len().max(other.words.len()) as f64),
        }
    }

    /// At least as high as both exact measures: a character that the other name does not have costs at least one edit, and
    /// matches nothing.
    fn bound(&self, other: &NearName) -> f64 {
        let (a, b) = (self.chars as f64, other.chars as f64);
        if a == 0.0 || b == 0.0 {
            return 0.0;
        }
        let shared: u32 = self.letters.iter().zip(&other.letters).map(|(a, b)| u32::from(*a.min(b))).sum();
        let shared = f64::from(shared);
        let typo = typo(a.max(b) - shared, a.max(b));
        let jaro = if shared == 0.0 { 0.0 } else { (shared / a + shared / b + 1.0) / 3.0 };
        let start = self.folded.chars().zip(other.folded.chars()).take(4).take_while(|(a, b)| a == b).count();
        let same_start = (jaro + 0.1 * start as f64 * (1.0 - jaro)) * SAME_START;
        typo.max(same_start)
    }
}

/// The letters of a name, without case, order and number, and its length in bytes: quick to make, and quick to compare.
#[derive(Clone, Copy, Debug)]
pub struct LetterSet {
    letters: u64,
    len: u32,
}

impl LetterSet {
    pub fn of(name: &str) -> Self {
        let bit = |byte: u8| 1u64 << (byte.to_ascii_lowercase() % 64);
        let start = &name.as_bytes()[..name.len().min(COMPARED)];
        let letters = start.iter().fold(0, |letters, byte| letters | bit(*byte));
        LetterSet { letters, len: start.len() as u32 }
    }

    fn contains(self, other: LetterSet) -> bool {
        other.letters & !self.letters == 0
    }

    /// The share of letters that may be the same, from 0 to 1.
    fn similarity(self, other: LetterSet) -> f64 {
        let only_here = (self.letters & !other.letters).count_ones();
        let only_there = (other.letters & !self.letters).count_ones();
        let slips = only_here.max(only_there).max(self.len.abs_diff(other.len));
        1.0 - f64::from(slips) / f64::from(self.len.max(other.len).max(1))
    }
}

/// The work of one search, in steps of about ten nanoseconds.
#[derive(Default)]
struct SearchWork {
    scan: usize,
    look: usize,
    exact: usize,
}

impl SearchWork {
    /// Counts work if the limit allows it.
    fn allows(spent: &mut usize, steps: usize, limit: usize) -> bool {
        let is_allowed = *spent + steps <= limit;
        *spent += if is_allowed { steps } else { 0 };
        is_allowed
    }
}

/// A name that was scanned: the likeness of its letters, and where it was.
struct Scanned<'a, N> {
    score: f64,
    at: usize,
    text: &'a str,
    name: N,
}

/// The letters of the wanted name and of its words.
struct WantedLetters {
    whole: LetterSet,
    words: Vec<LetterSet>,
}

impl WantedLetters {
    fn of(wanted: &NearName) -> Self {
        let words = wanted.words.iter().map(|word| LetterSet::of(word)).collect();
        WantedLetters { whole: LetterSet::of(&wanted.folded), words }
    }

    /// How likely a name with these letters is near.
    fn score(&self, letters: LetterSet) -> f64 {
        let found = self.words.iter().filter(|word| letters.contains(**word)).map(|word| word.len);
        // As in `overlap`: a shared word counts more than similar letters.
        let shared = match found.sum::<u32>() {
            0 => 0.0,
            found => 0.6 + 0.4 * (f64::from(found) / f64::from(letters.len.max(self.whole.len))),
        };
        let similar = self.whole.similarity(letters);
        // Of names with the same words, those with similar letters come first.
        similar.max(shared) + similar / 100.0
    }
}

/// The names whose letters are most like those of the wanted one or of its words, the most likely first.
fn promising<'a, N>(
    wanted: &NearName,
    names: impl Iterator<Item = (LetterSet, &'a str, N)>,
    work: &mut SearchWork,
) -> Vec<Scanned<'a, N>> {
    let letters = WantedLetters::of(wanted);
    let best_first =
        |a: &Scanned<'a, N>, b: &Scanned<'a, N>| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at));
    let (mut kept, mut least) = (Vec::new(), f64::NEG_INFINITY);
    for (at, (of_name, text, name)) in names.enumerate() {
        if !SearchWork::allows(&mut work.scan, 1, SCAN_STEPS) {
            break;
        }
        let score = letters.score(of_name);
        // A later name must be better than the last one kept.
        if score <= least {
            continue;
        }
        kept.push(Scanned { score, at, text, name });
        if kept.len() == 2 * LOOKED_AT {
            let (_, last, _) = kept.select_nth_unstable_by(LOOKED_AT - 1, best_first);
            least = last.score;
            kept.truncate(LOOKED_AT);
        }
    }
    kept.sort_unstable_by(best_first);
    kept.truncate(LOOKED_AT);
    kept
}

/// The likeness of names of up to `longest` characters with this many slips between them. One slip is always near, except in
/// names of one or two characters.
fn typo(slips: f64, longest: f64) -> f64 {
    let share = 1.0 - slips / longest;
    if slips <= 1.0 && longest >= 3.0 { share.max(ALIKE) } else { share }
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
    near_within(wanted, names, limit, &mut SearchWork::default())
}

fn near_within<'a, N>(
    wanted: &str,
    names: impl Iterator<Item = (LetterSet, &'a str, N)>,
    limit: usize,
    work: &mut SearchWork,
) -> Vec<N> {
    let wanted = NearName::new(wanted);
    let scanned = promising(&wanted, names, work);
    let may_look = |one: &Scanned<'a, N>| {
        let steps = LOOK + one.text.len().min(COMPARED);
        SearchWork::allows(&mut work.look, steps, LOOK_STEPS)
    };
    let possible = scanned.into_iter().take_while(may_look).filter_map(|one| {
        let near = NearName::new(one.text);
        Some((wanted.at_most(&near)?, near, one.at, one.name))
    });
    let mut possible: Vec<(f64, NearName, usize, N)> = possible.collect();
    possible.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
    let mut found: Vec<(f64, usize, N)> = Vec::new();
    for (most, near, at, name) in possible {
        // The best names are known when no other can be as near.
        let is_settled = found.len() >= limit
            && found.get(limit.wrapping_sub(1)).is_none_or(|last| last.0 > most + ROUNDING);
        if is_settled || !SearchWork::allows(&mut work.exact, wanted.chars * near.chars, EXACT_STEPS) {
            break;
        }
        if let Some(likeness) = wanted.likeness(&near) {
            let place = found.partition_point(|one| one.0 > likeness || one.0 == likeness && one.1 < at);
            found.insert(place, (likeness, at, name));
            found.truncate(limit);
        }
    }
    found.into_iter().map(|(_, _, name)| name).collect()
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
    fn few_of_many_names_reach_the_exact_comparison() {
        let verbs = ["get", "list", "create", "delete", "update", "search", "send", "export"];
        let nouns = ["invoice", "ticket", "repository", "calendar", "customer", "message", "image", "report"];
        let names = (0..10_000).map(|i| {
            let (verb, noun) = (verbs[i % 8], nouns[i / 8 % 8]);
            NearName::new(&format!("{verb}_{noun}_{}", i / 64))
        });
        let wanted = NearName::new("forecast_weather");
        let compared = names.filter(|name| wanted.bound(name) >= ALIKE).count();
        assert!(compared < 500, "{compared}");
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

    #[test]
    fn the_work_is_bounded_whatever_the_number_and_the_length_of_names() {
        let wanted = "synchronize_customer_invoices_of_the_northern_region_with_the_central_ledger_now";
        for (count, length) in [(100_000, 80), (300_000, 80), (100_000, 12), (1_000, 5_000)] {
            let names: Vec<String> = (0..count)
                .map(|number| {
                    let start =
                        format!("synchronize_customer_{number}_invoices_of_the_northern_region_").repeat(100);
                    start[..length].to_owned()
                })
                .collect();
            let mut work = SearchWork::default();
            let letters = names.iter().map(|name| (LetterSet::of(name), name.as_str(), name));
            let near = near_within(&wanted[..length.min(wanted.len())], letters, 3, &mut work);
            assert!(work.scan <= SCAN_STEPS && work.look <= LOOK_STEPS && work.exact <= EXACT_STEPS);
            assert_eq!(near.len(), 3, "the best so far of {count} names with {length} characters");
        }
    }

    #[test]
    fn a_search_ends_when_no_other_name_can_be_nearer() {
        let names: Vec<String> = (100..1_000).map(|number| format!("tool_{number}")).collect();
        let mut work = SearchWork::default();
        let letters = names.iter().map(|name| (LetterSet::of(name), name.as_str(), name.as_str()));
        assert_eq!(near_within("tool_577", letters, 1, &mut work), ["tool_577"]);
        assert!(work.exact <= 3 * 8 * 8, "{} steps", work.exact);
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
        fn the_bound_never_hides_a_near_name(a in "[a-f_A-F0-3搜索]{0,12}", b in "[a-f_A-F0-3搜索]{0,12}") {
            let (a, b) = (NearName::new(&a), NearName::new(&b));
            let slips = strsim::damerau_levenshtein(&a.folded, &b.folded) as f64;
            let exact = typo(slips, a.chars.max(b.chars) as f64)
                .max(strsim::jaro_winkler(&a.folded, &b.folded) * SAME_START);
            if a.chars > 0 && b.chars > 0 {
                prop_assert!(a.bound(&b) >= exact - 1e-9, "{} < {exact}", a.bound(&b));
            }
        }

        #[test]
        fn a_name_is_like_itself_and_likeness_goes_both_ways(a in "\\PC{1,100}", b in "\\PC{0,100}") {
            prop_assert_eq!(likeness(&a, &a), Some(1.0));
            let (ab, ba) = (likeness(&a, &b), likeness(&b, &a));
            prop_assert_eq!(ab.is_some(), ba.is_some());
        }
    }
}
