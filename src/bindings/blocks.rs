//! The content of an MCP server's answer, converted to Python when it is read.

use super::json;
use crate::model::ToolOutput;
use pyo3::prelude::*;
use serde_json::Value;

#[pyclass(frozen, module = "toolhub._core")]
pub struct Blocks {
    content: Value,
    structured: Option<Value>,
    meta: Option<Value>,
}

impl Blocks {
    pub fn of(output: ToolOutput) -> Option<Self> {
        output.content.map(|content| Blocks { content, structured: output.structured, meta: output.meta })
    }

    /// The blocks as they came.
    pub fn blocks(&self) -> &[Value] {
        self.content.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The value of the result is structured data, not the blocks.
    pub fn is_structured(&self) -> bool {
        self.structured.is_some()
    }

    /// The `_meta` of the answer.
    pub fn meta(&self) -> Option<&Value> {
        self.meta.as_ref()
    }
}

#[pymethods]
impl Blocks {
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.content)
    }

    #[getter]
    fn structured<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.structured.as_ref().map(|value| json::to_python(py, value)).transpose()
    }
}
