//! Which answers are the same.

use crate::model::Part;

/// Punctuation that ends or quotes a sentence. What can change the meaning (signs, points inside numbers, `C++`, brackets of
/// data) is not here.
const SENTENCE_MARKS: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '"', '\'', '“', '”', '‘', '’', '。', '，', '；', '：', '！', '？',
    '、', '「', '」',
];

/// Answers that are the same, together, in the order of their first.
pub fn groups(parts: &[Part]) -> Vec<Vec<&Part>> {
    let mut groups: Vec<(String, Vec<&Part>)> = Vec::with_capacity(parts.len());
    for part in parts {
        let folded = fold(&part.text);
        match groups.iter_mut().find(|(known, _)| *known == folded) {
            Some((_, same)) => same.push(part),
            None => groups.push((folded, vec![part])),
        }
    }
    groups.into_iter().map(|(_, same)| same).collect()
}

/// Two answers are the same when they differ only in case, in space between words, and in marks around words.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let word = word.trim_matches(SENTENCE_MARKS);
        if word.is_empty() {
            continue;
        }
        if !folded.is_empty() {
            folded.push(' ');
        }
        if word.is_ascii() {
            folded.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
        } else {
            folded.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;

    #[test]
    fn case_space_and_sentence_marks_do_not_matter() {
        let parts = [part("a", "It is 5 pm."), part("b", " it is  5 PM "), part("c", "“It is 5 pm”")];
        assert_eq!(groups(&parts).len(), 1);
    }

    #[test]
    fn answers_that_differ_in_meaning_stay_apart() {
        for (one, other) in
            [("5", "-5"), ("1.5", "15"), ("C", "C++"), ("a b", "ab"), ("[1, 23]", "[12, 3]"), ("😀", "🎉")]
        {
            assert_eq!(groups(&[part("x", one), part("y", other)]).len(), 2, "{one} {other}");
        }
    }
}
