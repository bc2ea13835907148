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

pub type Policy = fn(&[Part]) -> String;

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

fn labelled(label: &str, text: &str) -> String {
    format!("[{label}] {}", text.trim())
}

#[cfg(test)]
fn part(label: &str, text: &str) -> Part {
    Part { label: label.into(), text: text.into(), shown: text.into() }
}
