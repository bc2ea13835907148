//! The first answer alone, with its label.

use super::labelled;
use crate::model::Part;

pub fn merge(parts: &[Part]) -> String {
    parts.first().map(|part| labelled(&part.label, &part.shown)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::part;

    #[test]
    fn only_the_first_is_taken() {
        assert_eq!(super::merge(&[part("a", "one"), part("b", "two")]), "[a] one");
        assert_eq!(super::merge(&[]), "");
    }
}
