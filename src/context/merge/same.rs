//! Which answers are the same.

use toolhub_types::model::Part;

/// Punctuation that ends or quotes a sentence, without characters that can change the meaning (signs, decimal points, `C++`,
/// brackets of data).
const SENTENCE_MARKS: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '"', '\'', '“', '”', '‘', '’', '。', '，', '；', '：', '！', '？',
    '、', '「', '」',
];

/// The number of words that tell most answers apart, without folding the rest.
const OPENING: usize = 24;

/// Answers with the same opening.
struct Group<'a> {
    opening: String,
    /// The first answer, folded when another one had the same opening.
    folded: Option<String>,
    parts: Vec<&'a Part<'a>>,
}

impl Group<'_> {
    /// Long answers are the same only if they are identical: folding them would cost more than all other work.
    fn has(&mut self, part: &Part<'_>) -> bool {
        match (self.parts[0].long, part.long) {
            (None, None) => {
                let first = &self.parts[0].start;
                let folded = self.folded.get_or_insert_with(|| fold(first, usize::MAX));
                *folded == fold(&part.start, usize::MAX)
            }
            (Some(first), Some(other)) => first == other,
            _ => false,
        }
    }
}

/// Answers that are the same, together, in the order of their first.
pub fn groups<'a>(parts: &'a [Part<'a>]) -> Vec<Vec<&'a Part<'a>>> {
    let mut groups: Vec<Group<'a>> = Vec::with_capacity(parts.len());
    for part in parts {
        let opening = fold(&part.start, OPENING);
        match groups
            .iter_mut()
            .find_map(|group| (group.opening == opening && group.has(part)).then_some(group))
        {
            Some(group) => group.parts.push(part),
            None => groups.push(Group { opening, folded: None, parts: vec![part] }),
        }
    }
    groups.into_iter().map(|group| group.parts).collect()
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
    use super::super::part;
    use super::*;

    #[test]
    fn case_space_and_sentence_marks_do_not_matter() {
        let parts = [part("a", "It is 5 pm."), part("b", " it is  5 PM "), part("c", "“It is 5 pm”")];
        assert_eq!(groups(&parts).len(), 1);
    }

    #[test]
    fn long_answers_are_compared_to_their_end() {
        let long = "word ".repeat(500);
        let texts = ["yes", "no", "YES."].map(|end| format!("{long}{end}"));
        let parts = texts.each_ref().map(|text| part("a", text));
        assert_eq!(groups(&parts).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn long_answers_are_the_same_only_if_they_are_identical() {
        let text = |end: &str| format!("{}{end}", "word ".repeat(3_000));
        let texts = [text("yes"), text("no"), text("yes"), text("YES")];
        let long = texts.each_ref().map(|text| Part {
            start: text[..Part::LONG].into(),
            long: Some(text.as_bytes()),
            ..part("a", "")
        });
        assert_eq!(groups(&long).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
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
