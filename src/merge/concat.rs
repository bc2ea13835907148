//! All answers one after another, repeated ones too.

use super::labelled;
use crate::model::Part;

pub fn merge(parts: &[Part]) -> String {
    parts.iter().map(|part| labelled(&part.label, &part.shown)).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::part;

    #[test]
    fn nothing_is_left_out() {
        assert_eq!(super::merge(&[part("a", "one"), part("b", "one")]), "[a] one\n\n[b] one");
    }
}
