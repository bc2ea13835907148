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
pub fn joined<'a>(shown: impl IntoIterator<Item = (String, &'a Part<'a>)>) -> MergedText {
    let mut merged = MergedText { text: String::new(), truncated: false };
    for (heading, part) in shown {
        let gap = if merged.text.is_empty() { "" } else { "\n\n" };
        merged.text.extend([gap, &heading, " ", part.shown.trim()]);
        merged.truncated |= part.cut;
    }
    merged
}

pub fn labelled<'a>(part: &'a Part<'a>) -> (String, &'a Part<'a>) {
    (format!("[{}]", part.label), part)
}

#[cfg(test)]
pub fn part<'a>(label: &str, text: &'a str) -> Part<'a> {
    Part { label: label.into(), start: text.into(), long: None, shown: text.into(), cut: false }
}
