//! Pages of a long text. A page begins and ends between grapheme clusters, so that every page is readable on its own, and all
//! pages together are the text, whether a reader goes on where a page ended or takes steps of one size.

use super::chars::{after_cluster, count, floor, index_of};
use std::ops::Range;

/// A sequence of combining marks that is longer than this many bytes is cut like any other text.
const MAX_CLUSTER: usize = 1024;

/// The page of at most `limit` characters from character `offset` on, in bytes, and the number of the character after it.
///
/// An offset inside a cluster means the start of that cluster. A cluster that is longer than `limit` is one page.
pub fn page(text: &str, offset: usize, limit: usize) -> (Range<usize>, usize) {
    let start = before_cluster(text, index_of(text, offset));
    let end = before_cluster(text, index_of(text, offset.saturating_add(limit)));
    let end = if end > start || limit == 0 { end } else { cluster_end(text, start) };
    let end = end.max(start);
    (start..end, count(&text[..end]))
}

/// The last place at or before `at` where a page may end.
fn before_cluster(text: &str, at: usize) -> usize {
    let start = floor(text, at);
    if at - start < MAX_CLUSTER { start } else { at }
}

fn cluster_end(text: &str, start: usize) -> usize {
    let longest = text[start..].char_indices().map(|(at, _)| start + at).find(|at| at - start >= MAX_CLUSTER);
    after_cluster(text, start).min(longest.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAMILY: &str = "👩‍👩‍👧‍👦";

    fn pages(text: &str, limit: usize) -> Vec<String> {
        let (mut all, mut offset) = (Vec::new(), 0);
        while offset < count(text) {
            let (bytes, next) = page(text, offset, limit);
            assert!(next > offset, "no progress at {offset}");
            all.push(text[bytes].to_owned());
            offset = next;
        }
        all
    }

    #[test]
    fn pages_end_between_clusters() {
        for (text, limit, expected) in [
            ("e\u{301}e\u{301}e\u{301}", 3, vec!["e\u{301}"; 3]),
            ("🇩🇪🇫🇷🇬🇧", 5, vec!["🇩🇪🇫🇷", "🇬🇧"]),
            ("a\r\nb", 2, vec!["a", "\r\n", "b"]),
            ("plain", 2, vec!["pl", "ai", "n"]),
            ("क्षि!", 1, vec!["क्षि", "!"]),
        ] {
            assert_eq!(pages(text, limit), expected, "{text}");
        }
        assert_eq!(pages(&FAMILY.repeat(3), 8), [FAMILY; 3]);
        assert_eq!(pages(&FAMILY.repeat(3), 1), [FAMILY; 3]);
    }

    #[test]
    fn steps_of_one_size_give_the_text_too() {
        let text = format!("{FAMILY} and e\u{301} and 🇩🇪🇫🇷 ").repeat(9);
        for limit in [7, 8, 10, 64] {
            let steps = (0..count(&text)).step_by(limit).map(|offset| &text[page(&text, offset, limit).0]);
            assert_eq!(steps.collect::<String>(), text, "{limit}");
        }
    }

    #[test]
    fn endless_clusters_are_cut_and_offsets_past_the_end_are_empty() {
        let text = format!("e{}", "\u{301}".repeat(5_000));
        for limit in [1, 100, 2_000] {
            assert_eq!(pages(&text, limit).concat(), text);
        }
        assert_eq!(page("text", 9, 9), (4..4, 4));
        assert_eq!(page("text", 2, 0), (2..2, 2));
        assert_eq!(page("text", 0, usize::MAX), (0..4, 4));
        assert_eq!(page("", 0, 5), (0..0, 0));
    }

    proptest! {
        #[test]
        fn all_pages_are_the_text(
            parts in proptest::collection::vec(
                prop_oneof!["\\PC{0,4}", "[e\u{301}\u{308}\u{200d}\r\n🇩🇪👩👧🏽क्षि]{0,6}"], 0..20),
            limit in 1usize..40,
        ) {
            let text = parts.concat();
            let pages = pages(&text, limit);
            prop_assert_eq!(pages.concat(), text.clone());
            let mut end = 0;
            for page in pages {
                end += page.len();
                prop_assert_eq!(floor(&text, end), end);
            }
        }
    }
}
