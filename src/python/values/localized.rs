//! The hub's own sentences that Python writes, in the language of the hub.

use pyo3::prelude::*;
use toolhub::model::Lang;
use toolhub::wording::in_chinese;

/// A sentence of the hub in a language.
#[pyfunction]
pub fn in_language(sentence: &str, lang: &str) -> String {
    match Lang::parse(lang) {
        Some(Lang::Zh) => in_chinese(sentence).into_owned(),
        _ => sentence.to_owned(),
    }
}
