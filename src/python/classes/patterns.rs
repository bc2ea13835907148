//! Patterns of tool names for Python's `Permissions`.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use toolhub::pattern::PatternList;

/// Patterns that allow and, with `!`, forbid tools.
#[pyclass(frozen, module = "toolhub", name = "PatternList")]
pub struct PyPatternList {
    inner: Arc<PatternList>,
}

impl PyPatternList {
    /// The patterns, for the permissions of a call.
    pub fn shared(&self) -> Arc<PatternList> {
        self.inner.clone()
    }
}

#[pymethods]
impl PyPatternList {
    #[new]
    #[pyo3(signature = (patterns: "list[str]"))]
    fn new(patterns: Vec<Bound<'_, PyString>>) -> Self {
        let patterns: Vec<_> = patterns.iter().map(|pattern| pattern.to_string_lossy()).collect();
        PyPatternList { inner: Arc::new(PatternList::new(patterns.iter().map(|pattern| &**pattern))) }
    }

    /// Whether a tool is allowed on this server; None is a tool that belongs to no server.
    fn allows(&self, name: &Bound<'_, PyString>, server: Option<&Bound<'_, PyString>>) -> bool {
        let server = server.map(|server| server.to_string_lossy());
        self.inner.allows(&name.to_string_lossy(), server.as_deref())
    }

    /// Whether a tool of this name may be allowed on some server.
    fn may_allow(&self, name: &Bound<'_, PyString>) -> bool {
        self.inner.may_allow(&name.to_string_lossy())
    }

    /// Whether a pattern names a server, so that the provider of a tool decides.
    #[getter]
    fn names_servers(&self) -> bool {
        self.inner.names_servers()
    }
}
