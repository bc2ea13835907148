//! The first answer alone, with its label.

use super::labelled::{MergedText, joined, labelled};
use crate::model::Part;

pub fn merge(parts: &[Part<'_>]) -> MergedText {
    joined(parts.first().map(labelled))
}

#[cfg(test)]
mod tests {
    use super::super::labelled::part;

    #[test]
    fn only_the_first_is_taken() {
        assert_eq!(super::merge(&[part("a", "one"), part("b", "two")]).text, "[a] one");
        assert_eq!(super::merge(&[]).text, "");
    }
}
