//! Shaping text for Python: cutting and merging. A huge string is never converted whole: only the window that decides
//! the result crosses.

use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::unicode::{all_of, start_of, string};
use std::borrow::Cow;
use toolhub::invisible::visible;
use toolhub::merge::{self, MergedText};
use toolhub::model::Part;
use toolhub::truncate::tokens::{Estimate, load};
use toolhub::truncate::{Options, TokenCounter, Unit, truncate_window, window_chars};

/// So much of the start tells whether it is JSON.
const HEAD: usize = 256;

/// Counts tokens with an encoding that the user has.
#[pyclass(frozen, module = "toolhub", name = "Tokenizer")]
pub struct PyTokenizer {
    pub counter: Arc<dyn TokenCounter>,
}

#[pymethods]
impl PyTokenizer {
    /// From the content of a tiktoken file or a `tokenizer.json`; the name tells which tiktoken encoding it is.
    #[new]
    fn new(name: &str, content: &[u8]) -> PyResult<Self> {
        let counter = load(name, content).map_err(PyValueError::new_err)?;
        Ok(PyTokenizer { counter: Arc::from(counter) })
    }

    /// How many tokens a text has.
    fn count(&self, py: Python<'_>, text: &str) -> usize {
        py.detach(|| self.counter.count(text))
    }
}

/// Cuts a text to `limit` characters or tokens: the text, how much was cut of how much, whether these numbers are estimates, and
/// whether anything was cut.
#[pyfunction]
pub fn truncate_text<'py>(
    text: &Bound<'py, PyString>,
    limit: usize,
    unit: &str,
    tokenizer: Option<&Bound<'_, PyTokenizer>>,
) -> PyResult<(Bound<'py, PyString>, usize, usize, bool, bool)> {
    let py = text.py();
    let counter = tokenizer.map(|tokenizer| tokenizer.get().counter.clone());
    let counter: &dyn TokenCounter = counter.as_deref().unwrap_or(&Estimate);
    let unit = match unit {
        "chars" => Unit::Chars,
        "tokens" => Unit::Tokens(counter),
        other => {
            return Err(PyValueError::new_err(format!("unit must be 'chars' or 'tokens', got {other:?}")));
        }
    };
    let options = Options { unit, ..Options::default() };
    let total = text.len()?;
    let window = window(text, limit, &options)?;
    let cut = || truncate_window(&window, total, limit, &options);
    let made = released(py, window.len(), cut);
    Ok((string(py, &made.text)?, made.cut, made.total, made.estimated, made.truncated))
}

/// A text as it is seen: without commands to terminals and invisible characters. The same object when it has none.
#[pyfunction]
pub fn visible_text<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let given = all_of(text)?;
    match released(text.py(), given.len(), || visible(&given)) {
        Cow::Borrowed(_) => Ok(text.clone()),
        Cow::Owned(seen) => string(text.py(), &seen),
    }
}

/// The start of a text that decides how it is cut to `limit`.
fn window(text: &Bound<'_, PyString>, limit: usize, options: &Options<'_>) -> PyResult<String> {
    // Enough for prose; JSON wants more, and is not known before its start is seen.
    let usual = window_chars(limit, "", options).max(HEAD);
    let window = start_of(text, usual)?;
    let needed = window_chars(limit, &window, options);
    if needed > usual && text.len()? > usual { start_of(text, needed) } else { Ok(window) }
}

/// Merges (label, text) pairs; the second value tells whether what is shown was cut.
#[pyfunction]
pub fn merge_texts<'py>(
    py: Python<'py>,
    given: Vec<(String, Bound<'py, PyString>)>,
    limit: usize,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    let merged = merged(py, &given, limit)?;
    Ok((string(py, &merged.text)?, merged.truncated))
}

/// Merges labelled texts, each cut to `limit` characters. Of a long one only the start is decoded.
pub fn merged(py: Python<'_>, given: &[(String, Bound<'_, PyString>)], limit: usize) -> PyResult<MergedText> {
    let options = Options::default();
    // SAFETY: strings do not change, and `given` keeps them alive.
    let data = given.iter().map(|(_, text)| unsafe { text.data() }).collect::<PyResult<Vec<_>>>()?;
    let parts = given.iter().zip(&data).map(|((label, text), data)| {
        let total = text.len()?;
        let shown = truncate_window(&window(text, limit, &options)?, total, limit, &options);
        Ok(Part {
            label: label.clone(),
            start: start_of(text, Part::LONG)?.into(),
            long: (total > Part::LONG).then(|| data.as_bytes()),
            shown: shown.text,
            cut: shown.truncated,
        })
    });
    let parts = parts.collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| merge::simple(&parts)))
}
