//! Which answers are the same.

use crate::model::Part;

/// Punctuation that ends or quotes a sentence, without characters that can change the meaning (signs, decimal points, `C++`,
/// brackets of data).
const SENTENCE_MARKS: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '"', '\'', '“', '”', '‘', '’', '。', '，', '；', '：', '！', '？',
    '、', '「', '」',
];

/// The number of words compared first; enough for most answers, without folding a long one completely.
const OPENING: usize = 24;

/// Groups equal answers, in order of first appearance.
pub fn groups(parts: &[Part]) -> Vec<Vec<&Part>> {
    let mut groups: Vec<(String, Vec<&Part>)> = Vec::with_capacity(parts.len());
    for part in parts {
        let opening = fold(&part.text, OPENING);
        let same = |(known, group): &&mut (String, Vec<&Part>)| {
            *known == opening && fold(&group[0].text, usize::MAX) == fold(&part.text, usize::MAX)
        };
        match groups.iter_mut().find(same) {
            Some((_, group)) => group.push(part),
            None => groups.push((opening, vec![part])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The first `words` words of an answer, without case, extra spaces and punctuation around words.
fn fold(text: &str, words: usize) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(SENTENCE_MARKS))
        .filter(|word| !word.is_empty())
        .take(words);
    let mut folded = String::new();
    for word in words {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::super::labelled::part;
    use super::*;

    #[test]
    fn case_space_and_sentence_marks_do_not_matter() {
        let parts = [part("a", "It is 5 pm."), part("b", " it is  5 PM "), part("c", "“It is 5 pm”")];
        assert_eq!(groups(&parts).len(), 1);
    }

    #[test]
    fn long_answers_are_compared_to_their_end() {
        let long = "word ".repeat(500);
        let parts = [
            part("a", &format!("{long}yes")),
            part("b", &format!("{long}no")),
            part("c", &format!("{long}YES.")),
        ];
        assert_eq!(groups(&parts).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
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
