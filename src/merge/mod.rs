//! L2, several answers → one text. One policy a file, one list of them.
//!
//! A policy sees each answer whole and as it is to be shown (cut to its limit by whoever orders the stages): the same answer
//! is recognised in the whole, the reader gets what is shown. Every policy keeps the labels: answers of different trust are
//! never spliced without saying whose they are.

use crate::model::Part;

mod concat;
mod dedupe;
mod first;
mod same;
mod simple;

/// How many characters of each answer are shown unless told otherwise.
pub const PART_LIMIT: usize = 300;

pub type Policy = fn(&[Part]) -> Merged;

/// Several answers as one text.
#[derive(Debug, PartialEq, Eq)]
pub struct Merged {
    pub text: String,
    /// Whether one of those that are shown was cut.
    pub truncated: bool,
}

/// The policies by name.
pub const POLICIES: &[(&str, Policy)] = &[
    ("simple", simple::merge),
    ("first", first::merge),
    ("dedupe", dedupe::merge),
    ("concat", concat::merge),
];

pub fn policy(name: &str) -> Option<Policy> {
    POLICIES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy)
}

pub use simple::merge as simple;

/// Each answer behind its heading, one paragraph each.
fn joined<'a>(shown: impl IntoIterator<Item = (String, &'a Part)>) -> Merged {
    let mut merged = Merged { text: String::new(), truncated: false };
    for (heading, part) in shown {
        let gap = if merged.text.is_empty() { "" } else { "\n\n" };
        merged.text.extend([gap, &heading, " ", part.shown.trim()]);
        merged.truncated |= part.cut;
    }
    merged
}

fn labelled(part: &Part) -> (String, &Part) {
    (format!("[{}]", part.label), part)
}

#[cfg(test)]
fn part(label: &str, text: &str) -> Part {
    Part { label: label.into(), text: text.into(), shown: text.into(), cut: false }
}
