//! English and Chinese synonyms from one small table.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("synonyms.txt");

/// Stem → the other stems of its groups. A Chinese pair is its own stem.
static GROUPS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| read(TABLE));

fn read(table: &str) -> HashMap<String, Vec<String>> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut groups: HashMap<String, Vec<String>> = HashMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let stems: Vec<String> = line.split(',').map(|word| stemmer.stem(word.trim()).into_owned()).collect();
        for stem in &stems {
            let known = groups.entry(stem.clone()).or_default();
            known.extend(stems.iter().filter(|other| *other != stem).cloned());
        }
    }
    for others in groups.values_mut() {
        others.sort_unstable();
        others.dedup();
    }
    groups
}

/// The synonyms of a stem.
pub fn synonyms(stem: &str) -> &'static [String] {
    GROUPS.get(stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhub_text::is_wide;

    /// True for a word that the tokenizer can produce: one English word, or a pair.
    fn fits(word: &str) -> bool {
        let english = word.bytes().all(|b| b.is_ascii_lowercase()) && !word.is_empty();
        english || (word.chars().all(is_wide) && word.chars().count() == 2)
    }

    #[test]
    fn the_table_has_only_words_that_can_be_found() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            for word in line.split(',').map(str::trim) {
                assert!(fits(word), "{word:?} in {line:?}");
            }
        }
    }

    #[test]
    fn both_languages_lead_to_each_other() {
        assert!(synonyms("天气").contains(&"weather".to_owned()));
        assert!(synonyms("weather").contains(&"天气".to_owned()));
        assert!(synonyms("xyzzy").is_empty());
    }
}
