//! All answers one after another, repeated ones too.

use super::labelled::{MergedText, joined, labelled};
use crate::model::Part;

pub fn merge(parts: &[Part<'_>]) -> MergedText {
    joined(parts.iter().map(labelled))
}

#[cfg(test)]
mod tests {
    use super::super::labelled::part;

    #[test]
    fn nothing_is_left_out() {
        assert_eq!(super::merge(&[part("a", "one"), part("b", "one")]).text, "[a] one\n\n[b] one");
    }
}
