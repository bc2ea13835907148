//! Simple merge: each answer labelled with where it comes from; the same answer given twice is shown once and says so.

use super::{labelled, same};
use crate::model::Part;

pub fn merge(parts: &[Part]) -> String {
    let shown = same::groups(parts).into_iter().map(|group| match group.as_slice() {
        [one] => labelled(&one.label, &one.shown),
        many => {
            let labels: Vec<&str> = many.iter().map(|part| part.label.as_str()).collect();
            let text = format!("(same answer from {}) {}", many.len(), many[0].shown.trim());
            labelled(&labels.join(", "), &text)
        }
    });
    shown.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;

    #[test]
    fn answers_are_labelled_and_joined() {
        assert_eq!(
            merge(&[part("tools", "one"), part("mcps:brave", "two")]),
            "[tools] one\n\n[mcps:brave] two"
        );
    }

    #[test]
    fn the_same_answer_is_shown_once() {
        let merged = merge(&[part("tools", "It is 5 pm."), part("mcps:t", "it is  5 PM")]);
        assert_eq!(merged, "[tools, mcps:t] (same answer from 2) It is 5 pm.");
    }
}
