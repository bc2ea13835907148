//! Every different answer once, under the label of the first who gave it.

use super::{labelled, same};
use crate::model::Part;

pub fn merge(parts: &[Part]) -> String {
    let firsts = same::groups(parts).into_iter().filter_map(|group| group.first().copied());
    firsts.map(|part| labelled(&part.label, &part.shown)).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::part;

    #[test]
    fn a_repeated_answer_is_dropped() {
        assert_eq!(
            super::merge(&[part("a", "one"), part("b", "One."), part("c", "two")]),
            "[a] one\n\n[c] two"
        );
    }
}
