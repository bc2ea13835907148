//! Shaping text for Python: cutting and merging. A huge string is never converted whole: only the window that decides
//! the result crosses.

use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::unicode::{all_of, start_of, string};
use std::borrow::Cow;
use toolhub::hub::part;
use toolhub::invisible::visible;
use toolhub::merge::{self, MergedText};
use toolhub::truncate::tokens::{Estimate, load};
use toolhub::truncate::{Options, TokenCounter, Unit, truncate_window, window_chars};

/// So much of the start tells whether it is JSON.
const HEAD: usize = 256;

/// A text within its limit: `text`, how much was `cut` of a `total`, and whether these are `estimated`.
#[pyclass(frozen, get_all, module = "toolhub", name = "Truncated")]
pub struct PyTruncated {
    /// The text, within the limit, with a notice if something was cut.
    text: Py<PyString>,
    /// How much was cut, in the unit of the limit.
    cut: usize,
    /// How much there was, in the unit of the limit.
    total: usize,
    /// Whether the numbers are estimates, because tokens were asked for without a tokenizer.
    estimated: bool,
    /// Whether something was cut.
    truncated: bool,
}

#[pymethods]
impl PyTruncated {
    fn __str__(&self, py: Python<'_>) -> Py<PyString> {
        self.text.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (text, PyTruncated { cut, total, estimated, .. }) = (self.text.to_str(py)?, self);
        Ok(format!("Truncated(text={text:?}, cut={cut}, total={total}, estimated={estimated})"))
    }
}

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

/// Cuts a text to `limit` characters or tokens.
#[pyfunction]
pub fn truncate_text(
    text: &Bound<'_, PyString>,
    limit: usize,
    unit: &str,
    tokenizer: Option<&Bound<'_, PyTokenizer>>,
) -> PyResult<PyTruncated> {
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
    Ok(PyTruncated {
        text: string(py, &made.text)?.unbind(),
        cut: made.cut,
        total: made.total,
        estimated: made.estimated,
        truncated: made.truncated,
    })
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
    let texts = given.iter().map(|(label, text)| Ok((label.clone(), all_of(text)?)));
    let merged = merged(py, &texts.collect::<PyResult<Vec<_>>>()?, limit);
    Ok((string(py, &merged.text)?, merged.truncated))
}

/// Merges labelled texts, each cut to `limit` characters.
pub fn merged(py: Python<'_>, texts: &[(String, Cow<'_, str>)], limit: usize) -> MergedText {
    py.detach(|| {
        let parts = texts.iter().map(|(label, text)| part(label.clone(), text, limit));
        merge::simple(&parts.collect::<Vec<_>>())
    })
}
