//! L2, several answers → one text: each answer labelled with its source; an answer given twice is shown once, with a note.
//!
//! An answer comes as it is shown (truncated to its limit by the caller), with the start and the bytes of the whole text to
//! recognise equal answers. Answers of different trust are never joined without their sources.

use toolhub_types::model::Part;

/// The default number of characters shown of each answer.
pub const PART_LIMIT: usize = 300;

/// Several answers as one text.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedText {
    pub text: String,
    /// True if one of the answers shown was truncated.
    pub truncated: bool,
}

/// Each distinct answer once, one paragraph each.
pub fn simple(parts: &[Part<'_>]) -> MergedText {
    let mut merged = MergedText { text: String::new(), truncated: false };
    for group in groups(parts) {
        let labels: Vec<&str> = group.iter().map(|part| part.label.as_str()).collect();
        let gap = if merged.text.is_empty() { "" } else { "\n\n" };
        let note = match group.len() {
            1 => String::new(),
            several => format!(" (same answer from {several})"),
        };
        merged.text += &format!("{gap}[{}]{note} {}", labels.join(", "), group[0].shown.trim());
        merged.truncated |= group[0].cut;
    }
    merged
}

/// Punctuation that ends or quotes a sentence, without characters that can change the meaning (signs, decimal points, `C++`,
/// brackets of data).
const SENTENCE_MARKS: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '"', '\'', '“', '”', '‘', '’', '。', '，', '；', '：', '！', '？',
    '、', '「', '」',
];

/// Answers that are the same, together, in the order of their first.
fn groups<'a>(parts: &'a [Part<'a>]) -> Vec<Vec<&'a Part<'a>>> {
    let mut groups: Vec<Vec<&Part<'_>>> = Vec::with_capacity(parts.len());
    for part in parts {
        match groups.iter_mut().find(|group| is_same(group[0], part)) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}

/// Long answers are the same only if they are identical: folding them would cost more than all other work.
fn is_same(one: &Part<'_>, other: &Part<'_>) -> bool {
    match (one.long, other.long) {
        (None, None) => folded(&one.start).eq(folded(&other.start)),
        // Their owner may encode two texts in two ways: the same bytes may begin differently.
        (whole, other_whole) => whole == other_whole && one.start == other.start,
    }
}

/// An answer without case, extra spaces and punctuation around words.
fn folded(text: &str) -> impl Iterator<Item = char> {
    let words = text.split_whitespace().map(|word| word.trim_matches(SENTENCE_MARKS));
    let words = words.filter(|word| !word.is_empty());
    words.flat_map(|word| word.chars().flat_map(char::to_lowercase).chain([' ']))
}

#[cfg(test)]
pub fn part<'a>(label: &str, text: &'a str) -> Part<'a> {
    Part { label: label.into(), start: text.into(), long: None, shown: text.into(), cut: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_labelled_and_joined() {
        assert_eq!(
            simple(&[part("tools", "one"), part("mcps:brave", "two")]).text,
            "[tools] one\n\n[mcps:brave] two"
        );
    }

    #[test]
    fn the_same_answer_is_shown_once() {
        let merged = simple(&[part("tools", "It is 5 pm."), part("mcps:t", "it is  5 PM")]);
        assert_eq!(merged.text, "[tools, mcps:t] (same answer from 2) It is 5 pm.");
    }

    #[test]
    fn it_says_whether_what_is_shown_was_cut() {
        let cut = |label: &str| Part { cut: true, ..part(label, "It is late.") };
        assert!(simple(&[part("a", "It is early."), cut("b")]).truncated);
        assert!(
            !simple(&[part("a", "It is late."), cut("b")]).truncated,
            "the first of the same is shown, whole"
        );
    }

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
