//! L2, several answers → one text: each answer labelled with its source; an answer given twice is shown once, with a note.
//!
//! An answer comes as it is shown (truncated to its limit by the caller), with the start and the bytes of the whole text to
//! recognise equal answers. Answers of different trust are never joined without their sources.

mod same;

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
    for group in same::groups(parts) {
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
}
