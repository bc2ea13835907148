//! Simple merge: each answer labelled with its source; an answer given twice is shown once, with a note.

use super::labelled::{MergedText, joined, labelled};
use super::same;
use crate::model::Part;

pub fn merge(parts: &[Part<'_>]) -> MergedText {
    joined(same::groups(parts).into_iter().map(|group| match group.as_slice() {
        [one] => labelled(one),
        many => {
            let labels: Vec<&str> = many.iter().map(|part| part.label.as_str()).collect();
            (format!("[{}] (same answer from {})", labels.join(", "), many.len()), many[0])
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::super::labelled::part;
    use super::*;

    #[test]
    fn answers_are_labelled_and_joined() {
        assert_eq!(
            merge(&[part("tools", "one"), part("mcps:brave", "two")]).text,
            "[tools] one\n\n[mcps:brave] two"
        );
    }

    #[test]
    fn the_same_answer_is_shown_once() {
        let merged = merge(&[part("tools", "It is 5 pm."), part("mcps:t", "it is  5 PM")]);
        assert_eq!(merged.text, "[tools, mcps:t] (same answer from 2) It is 5 pm.");
    }

    #[test]
    fn it_says_whether_what_is_shown_was_cut() {
        let cut = |label: &str| Part { cut: true, ..part(label, "It is late.") };
        assert!(merge(&[part("a", "It is early."), cut("b")]).truncated);
        assert!(
            !merge(&[part("a", "It is late."), cut("b")]).truncated,
            "the first of the same is shown, whole"
        );
    }
}
