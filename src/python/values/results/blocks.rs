//! The content of an MCP server's answer, converted to Python when it is read.

use crate::values::json;
use crate::values::json_to_python::LargeJson;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::Value;
use toolhub::error::ErrorContent;
use toolhub::model::ToolOutput;

#[pyclass(frozen, module = "toolhub._core")]
pub struct Blocks {
    content: LargeJson,
    structured: Option<LargeJson>,
    meta: Option<Value>,
}

/// Content, structured content and `_meta`.
type BlockParts<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

impl Blocks {
    pub fn of(output: ToolOutput) -> Option<Self> {
        let ToolOutput { content, structured, meta, .. } = output;
        let structured = structured.map(LargeJson::from);
        content.map(|content| Blocks { content: content.into(), structured, meta })
    }

    /// What a tool sent with its failure.
    pub fn of_error(sent: &ErrorContent) -> Self {
        let ErrorContent { content, structured, meta, .. } = sent.clone();
        Blocks { content: content.into(), structured: structured.map(LargeJson::from), meta }
    }

    /// Content, structured content and `_meta`, as JSON.
    pub fn parts(&self) -> (&Value, Option<&Value>, Option<&Value>) {
        (&self.content, self.structured.as_deref(), self.meta.as_ref())
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
    /// For copies and pickles of results.
    #[new]
    fn new(
        content: &Bound<'_, PyAny>,
        structured: Option<&Bound<'_, PyAny>>,
        meta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let value = |object: &Bound<'_, PyAny>| json::from_python(object).map_err(PyValueError::new_err);
        Ok(Blocks {
            content: value(content)?.into(),
            structured: structured.map(value).transpose()?.map(LargeJson::from),
            meta: meta.map(value).transpose()?,
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, BlockParts<'py>)> {
        let (py, blocks) = (slf.py(), slf.get());
        let meta = blocks.meta.as_ref().map(|value| json::to_python(py, value)).transpose()?;
        Ok((slf.get_type(), (blocks.content(py)?, blocks.structured(py)?, meta)))
    }

    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.content)
    }

    #[getter]
    fn structured<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.structured.as_ref().map(|value| json::to_python(py, value)).transpose()
    }
}
