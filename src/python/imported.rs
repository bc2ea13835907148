//! Python objects that are imported at first use and kept.

use super::once::ForkSafeOnce;
use pyo3::prelude::*;

/// An attribute of a module.
///
/// An import runs Python code and may let other threads run; two of them may import the same thing, which gives the same
/// object.
pub struct Imported {
    module: &'static str,
    name: &'static str,
    object: ForkSafeOnce<Py<PyAny>>,
}

impl Imported {
    pub const fn new(module: &'static str, name: &'static str) -> Self {
        Imported { module, name, object: ForkSafeOnce::new() }
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let import = || Ok(py.import(self.module)?.getattr(self.name)?.unbind());
        self.object.get_or_try_init(py, import).map(|object| object.bind(py))
    }
}
