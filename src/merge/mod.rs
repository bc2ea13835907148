//! L2, several answers → one text. One file per policy; the list is here. All policies are public: `toolhub.merge`.
//!
//! A policy gets each answer as shown (truncated to its limit by the caller), with the start and the bytes of the whole text
//! to recognise equal answers. Every policy keeps the labels: answers of different trust are never joined
//! without their sources.

mod concat;
mod dedupe;
mod first;
mod labelled;
mod same;
mod simple;

pub use labelled::MergedText;
pub use simple::merge as simple;

use crate::model::Part;

/// The default number of characters shown of each answer.
pub const PART_LIMIT: usize = 300;

pub type Policy = fn(&[Part<'_>]) -> MergedText;

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
