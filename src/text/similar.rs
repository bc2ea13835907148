//! How much two texts have in common.

use super::words::{fold_width, is_wide, words};
use std::collections::HashSet;

/// The Jaccard similarity of two texts, from 0 to 1: the share of their words that both have. Scripts without spaces count by
/// characters. Two texts without any word are equal or not.
pub fn similarity(one: &str, other: &str) -> f64 {
    let (left, right) = (tokens(one), tokens(other));
    if left.is_empty() && right.is_empty() {
        return if one.trim() == other.trim() { 1.0 } else { 0.0 };
    }
    let both = left.intersection(&right).count();
    both as f64 / (left.len() + right.len() - both) as f64
}

fn tokens(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    for word in words(text) {
        match word.chars().next().map(fold_width) {
            Some(first) if is_wide(first) => found.extend(word.chars().map(String::from)),
            _ => {
                found.insert(word);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_chinese_characters_are_compared() {
        for (one, other, expected) in [
            ("The sky is blue.", "the SKY is blue", 1.0),
            ("one two", "two three", 1.0 / 3.0),
            ("今天天气好", "天气很好", 0.6),
            ("", "", 1.0),
            ("!", "?", 0.0),
            ("", "word", 0.0),
        ] {
            assert!((similarity(one, other) - expected).abs() < 1e-9, "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn it_is_a_measure(one in "\\PC{0,30}", other in "\\PC{0,30}") {
            let similar = similarity(&one, &other);
            prop_assert!((0.0..=1.0).contains(&similar));
            prop_assert_eq!(similar, similarity(&other, &one));
            prop_assert_eq!(similarity(&one, &one), 1.0);
        }
    }
}
