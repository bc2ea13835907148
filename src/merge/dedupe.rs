//! Each distinct answer once, under the label of its first source.

use super::labelled::{MergedText, joined, labelled};
use super::same;
use crate::model::Part;

pub fn merge(parts: &[Part<'_>]) -> MergedText {
    let firsts = same::groups(parts).into_iter().filter_map(|group| group.first().copied());
    joined(firsts.map(labelled))
}

#[cfg(test)]
mod tests {
    use super::super::labelled::part;

    #[test]
    fn a_repeated_answer_is_dropped() {
        assert_eq!(
            super::merge(&[part("a", "one"), part("b", "One."), part("c", "two")]).text,
            "[a] one\n\n[c] two"
        );
    }
}
