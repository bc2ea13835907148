//! Answers with the labels of their sources, joined into one text.

use crate::model::Part;

/// Several answers as one text.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedText {
    pub text: String,
    /// True if one of the answers shown was truncated.
    pub truncated: bool,
}

/// Each answer with its heading, one paragraph each.
pub fn joined<'a>(shown: impl IntoIterator<Item = (String, &'a Part)>) -> MergedText {
    let mut merged = MergedText { text: String::new(), truncated: false };
    for (heading, part) in shown {
        let gap = if merged.text.is_empty() { "" } else { "\n\n" };
        merged.text.extend([gap, &heading, " ", part.shown.trim()]);
        merged.truncated |= part.cut;
    }
    merged
}

pub fn labelled(part: &Part) -> (String, &Part) {
    (format!("[{}]", part.label), part)
}

#[cfg(test)]
pub fn part(label: &str, text: &str) -> Part {
    Part { label: label.into(), text: text.into(), shown: text.into(), cut: false }
}
