//! The hub's own sentences that Python writes, in the language of the hub.

use pyo3::prelude::*;
use toolhub::wording::row_of;

/// The template of a sentence in a language, where its places are numbered; a text that is not in the table stays.
#[pyfunction]
pub fn in_language(template: &str, lang: &str) -> String {
    let row = (lang == "zh").then(|| row_of(template)).flatten();
    row.map_or(template, |(_, chinese)| chinese).to_owned()
}
