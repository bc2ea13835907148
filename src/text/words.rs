//! Words: where a name breaks into words, which scripts have no spaces between them, and how many words two texts have in common.

use std::collections::HashSet;

/// Only the start of a very long name is read.
pub const NAME_BYTES: usize = 1_000;

/// Ideographs, kana and hangul: scripts that are written without spaces between words.
pub fn is_wide(c: char) -> bool {
    let script = matches!(
        c,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}'
    );
    script && c.is_alphanumeric()
}

/// What a stretch of text consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Letters and digits of a script with spaces between words.
    Narrow,
    /// Characters of a script without spaces.
    Wide,
    /// One other character.
    Mark,
}

/// The run at the beginning of a text and its length in bytes; `None` for an empty text.
pub fn first_run(text: &str) -> Option<(RunKind, usize)> {
    let c = text.chars().next()?;
    Some(if is_wide(c) {
        (RunKind::Wide, text.find(|c| !is_wide(c)).unwrap_or(text.len()))
    } else if c.is_alphanumeric() {
        (RunKind::Narrow, text.find(|c: char| !c.is_alphanumeric() || is_wide(c)).unwrap_or(text.len()))
    } else {
        (RunKind::Mark, c.len_utf8())
    })
}

/// Maps full-width digits and Latin letters, as Chinese input methods produce them, to ASCII.
pub fn fold_width(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            char::from_u32(c as u32 - 0xfee0).unwrap_or(c)
        }
        _ => c,
    }
}

/// Where the parts of a camelCase word begin, and where letters and digits meet.
pub fn humps(run: &str) -> impl Iterator<Item = usize> {
    let bytes = run.as_bytes();
    (1..bytes.len()).filter(|&at| {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let meet = before.is_ascii_digit() != here.is_ascii_digit();
        before.is_ascii() && here.is_ascii() && (meet || is_hump(bytes, at))
    })
}

/// Whether a part of a camelCase word begins at `at`: at aB, or at the last capital of an acronym (`PDFReader`), but not at
/// the plural s of one (`PDFs`).
pub fn is_hump(bytes: &[u8], at: usize) -> bool {
    if !bytes[at].is_ascii_uppercase() {
        return false;
    }
    if !bytes[at - 1].is_ascii_uppercase() {
        return true;
    }
    match bytes.get(at + 1) {
        Some(b's') => bytes.get(at + 2).is_some_and(u8::is_ascii_lowercase),
        Some(next) => next.is_ascii_lowercase(),
        None => false,
    }
}

/// Whether a list, which has spaces between its words, has a word.
pub fn has_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The words of a name, read up to a limit.
pub fn name_words(name: &str) -> Vec<String> {
    words(&name[..name.floor_char_boundary(NAME_BYTES)])
}

/// The words of a text in lower case. `getCurrentTime`, `get_current_time` and `get-current-time` have the same words; a
/// run of Chinese characters is one word.
pub fn words(text: &str) -> Vec<String> {
    let folded: String = text.chars().map(fold_width).collect();
    let mut words = Vec::new();
    let mut rest = folded.as_str();
    while let Some((kind, len)) = first_run(rest) {
        let run = &rest[..len];
        rest = &rest[len..];
        match kind {
            RunKind::Wide => words.push(run.to_owned()),
            RunKind::Narrow => {
                let mut begin = 0;
                for end in humps(run).chain([run.len()]) {
                    words.push(run[begin..end].to_lowercase());
                    begin = end;
                }
            }
            RunKind::Mark => {}
        }
    }
    words
}

/// The Jaccard similarity of two texts, from 0 to 1: the share of their words that both have. Scripts without spaces count by
/// characters. Two texts without any word are equal or not.
pub fn similarity(one: &str, other: &str) -> f64 {
    let [left, right]: [HashSet<String>; 2] = [one, other].map(|text| tokens(text).collect());
    if left.is_empty() && right.is_empty() {
        return if one.trim() == other.trim() { 1.0 } else { 0.0 };
    }
    let both = left.intersection(&right).count();
    both as f64 / (left.len() + right.len() - both) as f64
}

/// The words of a text; scripts without spaces by their characters.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    words(text).into_iter().flat_map(|word| match word.starts_with(is_wide) {
        true => word.chars().map(String::from).collect(),
        false => vec![word],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_any_style_come_apart() {
        for (name, words) in [
            ("get_current_time", vec!["get", "current", "time"]),
            ("getCurrentTime", vec!["get", "current", "time"]),
            ("get-current-time", vec!["get", "current", "time"]),
            ("files.read/all", vec!["files", "read", "all"]),
            ("readPDFFile", vec!["read", "pdf", "file"]),
            ("HTTPDelete", vec!["http", "delete"]),
            ("exportPDFs", vec!["export", "pdfs"]),
            ("send2fa", vec!["send", "2", "fa"]),
            ("DELETE_USER", vec!["delete", "user"]),
            ("ｓｅｎｄ_Ｍａｉｌ", vec!["send", "mail"]),
            ("查询order状态", vec!["查询", "order", "状态"]),
            ("", vec![]),
            ("__", vec![]),
        ] {
            assert_eq!(name_words(name), words, "{name}");
        }
    }

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
        fn any_name_can_be_read(name in "\\PC{0,40}") {
            for word in name_words(&name) {
                prop_assert!(!word.is_empty());
                prop_assert!(!word.contains(['_', '-', ' ']));
            }
        }

        #[test]
        fn the_style_does_not_matter(words in proptest::collection::vec("[a-z]{2,8}", 1..5)) {
            let camel: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            prop_assert_eq!(&name_words(&words.join("_")), &words);
            prop_assert_eq!(&name_words(&words.join("-")), &words);
            prop_assert_eq!(&name_words(&camel), &words);
        }

        #[test]
        fn it_is_a_measure(one in "\\PC{0,30}", other in "\\PC{0,30}") {
            let similar = similarity(&one, &other);
            prop_assert!((0.0..=1.0).contains(&similar));
            prop_assert_eq!(similar, similarity(&other, &one));
            prop_assert_eq!(similarity(&one, &one), 1.0);
        }
    }
}
