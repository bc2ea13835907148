//! Results as text, and the content of an MCP server's answer, converted to Python when it is read.

use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::json::LargeJson;
use crate::values::{unicode, value};
use pyo3::types::PyType;
use toolhub::Named;
use toolhub::model::{Lang, ToolOutput};
use toolhub::model_output::content::{self, ImageNotes};

#[pyclass(frozen, module = "toolhub._core")]
pub struct Blocks {
    content: LargeJson,
    /// The value of the result, if there is any; otherwise that are the blocks.
    pub structured: Option<LargeJson>,
    /// The `_meta` of the answer.
    pub meta: Option<Value>,
}

/// Content, structured content and `_meta`.
type BlockParts<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

impl Blocks {
    pub fn of(output: ToolOutput) -> Option<Self> {
        let ToolOutput { content, structured, meta, .. } = output;
        let structured = structured.map(LargeJson);
        content.map(|content| Blocks { content: LargeJson(content), structured, meta })
    }

    /// The answer without its value.
    pub fn output(&self) -> ToolOutput {
        let structured = self.structured.as_deref().cloned();
        ToolOutput {
            content: Some(self.content.clone()),
            structured,
            meta: self.meta.clone(),
            ..ToolOutput::default()
        }
    }

    /// The blocks as they came.
    pub fn blocks(&self) -> &[Value] {
        self.content.as_array().map(Vec::as_slice).unwrap_or_default()
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
            content: LargeJson(value(content)?),
            structured: structured.map(value).transpose()?.map(LargeJson),
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

/// A value as text; `None` if there is no value.
///
/// A text is itself, content blocks are joined, other data is JSON. Media that came with structured data are added as
/// notes.
pub fn text_of(
    value: &Bound<'_, PyAny>,
    blocks: Option<&Blocks>,
    images: ImageNotes,
) -> PyResult<Option<String>> {
    if let Some(blocks) =
        blocks.filter(|blocks| blocks.structured.is_none() && value.is_instance_of::<PyList>())
    {
        return Ok(Some(content_text(value.py(), blocks.blocks(), images)).filter(|text| !text.is_empty()));
    }
    let text = if value.is_none() {
        None
    } else if let Some(content) = content_of(value) {
        Some(content_text(value.py(), content.blocks(), images))
    } else {
        Some(value::readable(value)?)
    };
    let notes = blocks.filter(|blocks| blocks.structured.is_some()).map(|one| {
        let blocks = one.blocks();
        released(value.py(), size(blocks), || content::notes(blocks, images))
    });
    Ok(match (text, notes.filter(|notes| !notes.is_empty())) {
        (Some(text), Some(notes)) => Some(released(value.py(), text.len(), || format!("{text}\n\n{notes}"))),
        (text, notes) => text.or(notes),
    })
}

/// The value itself, if it is a valid text and nothing is said beside it.
pub fn own_text<'py>(value: &Bound<'py, PyAny>, blocks: Option<&Blocks>) -> Option<Bound<'py, PyString>> {
    let text = value.cast_exact::<PyString>().ok()?;
    (blocks.is_none_or(|one| one.structured.is_none()) && unicode::is_valid(text)).then(|| text.clone())
}

fn content_text(py: Python<'_>, blocks: &[Value], images: ImageNotes) -> String {
    released(py, size(blocks), || content::text(blocks, images))
}

/// About how many bytes the texts in blocks have.
fn size(blocks: &[Value]) -> usize {
    let members = blocks.iter().filter_map(Value::as_object).flat_map(|block| block.values());
    members.map(|member| member.as_str().map_or(8, str::len)).sum()
}

/// A value that is a list of content blocks; `None` for any other value.
fn content_of(value: &Bound<'_, PyAny>) -> Option<Blocks> {
    let list = value.cast::<PyList>().ok()?;
    // Long lists of data are not converted to see that they are not content.
    let first = list.get_item(0).ok()?.cast_into::<PyDict>().ok()?;
    first.get_item(intern!(value.py(), "type")).ok().flatten()?.cast_into::<PyString>().ok()?;
    let content = LargeJson(json::from_python(value).ok()?);
    content::blocks(&content).is_some().then_some(Blocks { content, structured: None, meta: None })
}

/// The images of a result that an API can take.
pub fn images_of(result: &Bound<'_, PyDict>) -> PyResult<Vec<content::ImageData>> {
    let py = result.py();
    let images = |blocks: &[Value]| released(py, size(blocks), || content::images(blocks));
    if let Some(blocks) = blocks_of(result)? {
        return Ok(images(blocks.get().blocks()));
    }
    let content = result.get_item(intern!(py, "result"))?.as_ref().and_then(content_of);
    Ok(content.map(|content| images(content.blocks())).unwrap_or_default())
}

fn blocks_of<'py>(result: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, Blocks>>> {
    let blocks = result.getattr_opt(intern!(result.py(), "_blocks"))?;
    Ok(blocks.and_then(|blocks| blocks.cast_into::<Blocks>().ok()))
}

/// The text of a successful result; what to say in the language of its hub if it has no value.
pub fn success_text(result: &Bound<'_, PyDict>, images: ImageNotes) -> PyResult<String> {
    let py = result.py();
    let value = result.get_item(intern!(py, "result"))?.unwrap_or_else(|| py.None().into_bound(py));
    let blocks = blocks_of(result)?;
    if let Some(text) = text_of(&value, blocks.as_ref().map(Bound::get), images)? {
        return Ok(text);
    }
    // Nothing but images, which the API gets beside the text, needs no words.
    let has_images = images == ImageNotes::Omitted && !images_of(result)?.is_empty();
    let nothing = lang_of(result).pick("Done; the tool returned no value.", "已完成，工具没有返回值。");
    Ok(if has_images { "" } else { nothing }.to_owned())
}

/// The language of the hub that made a result.
pub fn lang_of(result: &Bound<'_, PyDict>) -> Lang {
    let lang = result.getattr_opt(intern!(result.py(), "_lang")).ok().flatten();
    let lang = lang.and_then(|lang| lang.extract::<String>().ok());
    lang.and_then(|lang| Lang::named(&lang)).unwrap_or_default()
}

/// The value of a successful result as text: the same object if it is one.
#[pyfunction]
pub fn result_text<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyString>> {
    let (value, blocks) = (result.get_item(intern!(result.py(), "result"))?, blocks_of(result)?);
    match value.as_ref().and_then(|value| own_text(value, blocks.as_ref().map(Bound::get))) {
        Some(text) => Ok(text),
        None => unicode::string(result.py(), &success_text(result, ImageNotes::Shown)?),
    }
}

/// `[1.2 KB of binary data]`
#[pyfunction]
pub fn binary_note(bytes: usize) -> String {
    format!("[binary data, {}]", content::size(bytes))
}
