//! Python objects that are imported at first use and kept.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An attribute of a module.
///
/// An import runs Python code and may let other threads run. One of those may fork, and in the child nobody would ever end
/// the import; so nothing is locked meanwhile. Two threads may import the same thing, which gives the same object.
pub struct Imported {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl Imported {
    pub const fn new(module: &'static str, name: &'static str) -> Self {
        Imported { module, name, object: PyOnceLock::new() }
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        if let Some(object) = self.object.get(py) {
            return Ok(object.bind(py));
        }
        let object = py.import(self.module)?.getattr(self.name)?.unbind();
        Ok(self.object.get_or_init(py, || object).bind(py))
    }
}
