//! The first answer alone, with its label.

use super::{Merged, joined, labelled};
use crate::model::Part;

pub fn merge(parts: &[Part]) -> Merged {
    joined(parts.first().map(labelled))
}

#[cfg(test)]
mod tests {
    use super::super::part;

    #[test]
    fn only_the_first_is_taken() {
        assert_eq!(super::merge(&[part("a", "one"), part("b", "two")]).text, "[a] one");
        assert_eq!(super::merge(&[]).text, "");
    }
}
