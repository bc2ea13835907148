//! The page of recorded runs.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use toolhub::inspector;
use toolhub::model::Lang;

/// The page of a recorded run, or of two that are compared; `ValueError` if a file is wrong.
#[pyfunction]
#[pyo3(signature = (run, other=None, lang="en"))]
pub fn recorded_page(py: Python<'_>, run: PathBuf, other: Option<PathBuf>, lang: &str) -> PyResult<String> {
    let lang = Lang::parse(lang).unwrap_or_default();
    py.detach(|| inspector::recorded_page(&run, other.as_deref(), lang)).map_err(PyValueError::new_err)
}
