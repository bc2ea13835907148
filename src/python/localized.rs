//! The hub's own sentences in a result, in the language of the hub.

use super::once::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use toolhub::error::HubError;
use toolhub::model::Lang;
use toolhub::wording::{in_chinese, notice_in_chinese};

/// Translates the sentences of a finished result. Values and texts of tools stay as they are.
pub fn localize(result: &Bound<'_, PyDict>, lang: Lang) -> PyResult<()> {
    let py = result.py();
    if lang == Lang::En {
        return Ok(());
    }
    result.setattr(intern!(py, "_lang"), lang.name())?;
    translate(result, intern!(py, "error"))?;
    let Some(meta) = result.get_item(intern!(py, "_meta"))? else { return Ok(()) };
    let meta = meta.cast_into::<PyDict>()?;
    if let Some(details) = meta.get_item(intern!(py, "error"))? {
        translate(details.cast::<PyDict>()?, intern!(py, "message"))?;
    }
    for key in [intern!(py, "attempts"), intern!(py, "skipped"), intern!(py, "errors")] {
        let Some(rows) = meta.get_item(key)? else { continue };
        for row in rows.cast::<PyList>()? {
            translate(row.cast::<PyDict>()?, intern!(py, "error"))?;
        }
    }
    if let Some(reason) = meta.get_item(intern!(py, "synthesis_reason"))?.filter(|reason| !reason.is_none()) {
        meta.set_item(intern!(py, "synthesis_reason"), &*in_chinese(&reason.str()?.to_string_lossy()))?;
    }
    if let Some(warnings) = meta.get_item(intern!(py, "warnings"))? {
        let warnings: Vec<String> = warnings.extract()?;
        let translated: Vec<_> = warnings.iter().map(|warning| in_chinese(warning)).collect();
        meta.set_item(intern!(py, "warnings"), translated)?;
    }
    Ok(())
}

/// An error of the hub in a language.
pub fn localized(error: HubError, lang: Lang) -> HubError {
    match lang {
        Lang::En => error,
        Lang::Zh => HubError { message: in_chinese(&error.message).into_owned().into(), ..error },
    }
}

/// A notice about a configuration, a folder or the store in a language.
pub fn localized_notice(notice: String, lang: Lang) -> String {
    match lang {
        Lang::En => notice,
        Lang::Zh => notice_in_chinese(&notice).into_owned(),
    }
}

/// The same, for notices that Python writes.
#[pyfunction]
pub fn notice_in_language(notice: String, lang: &str) -> String {
    localized_notice(notice, Lang::parse(lang).unwrap_or_default())
}

/// A sentence of the hub in a language.
#[pyfunction]
pub fn in_language(sentence: &str, lang: &str) -> String {
    match Lang::parse(lang) {
        Some(Lang::Zh) => in_chinese(sentence).into_owned(),
        _ => sentence.to_owned(),
    }
}

fn translate(row: &Bound<'_, PyDict>, key: &Bound<'_, PyString>) -> PyResult<()> {
    let Some(sentence) = row.get_item(key)? else { return Ok(()) };
    let Ok(sentence) = sentence.cast_into::<PyString>() else { return Ok(()) };
    row.set_item(key, &*in_chinese(&sentence.to_string_lossy()))
}
