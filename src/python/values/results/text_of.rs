//! Results as text.

use crate::runtime::fork_safe_once::intern;
use crate::runtime::gil::released;
use crate::values::json;
use crate::values::json_to_python::LargeJson;
use crate::values::results::blocks::Blocks;
use crate::values::unicode;
use crate::values::value;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::Value;
use toolhub::model::Lang;
use toolhub::shape::content::{self, ImageNotes};

/// A value as text; `None` if there is no value.
///
/// A text is itself, content blocks are joined, other data is JSON. Media that came with structured data are added as
/// notes.
pub fn text_of(
    value: &Bound<'_, PyAny>,
    blocks: Option<&Blocks>,
    images: ImageNotes,
) -> PyResult<Option<String>> {
    if let Some(blocks) = blocks.filter(|blocks| !blocks.is_structured() && value.is_instance_of::<PyList>())
    {
        return Ok(Some(content_text(value.py(), blocks.blocks(), images)).filter(|text| !text.is_empty()));
    }
    let text = if value.is_none() {
        None
    } else if let Some(content) = content_of(value) {
        Some(content_text(value.py(), content.as_array().map(Vec::as_slice).unwrap_or_default(), images))
    } else {
        Some(value::readable(value)?)
    };
    let notes = blocks.filter(|blocks| blocks.is_structured()).map(|one| {
        let blocks = one.blocks();
        released(value.py(), size(blocks), || content::notes(blocks, images))
    });
    Ok(match (text, notes.filter(|notes| !notes.is_empty())) {
        (Some(text), Some(notes)) => Some(released(value.py(), text.len(), || format!("{text}\n\n{notes}"))),
        (text, notes) => text.or(notes),
    })
}

fn content_text(py: Python<'_>, blocks: &[Value], images: ImageNotes) -> String {
    released(py, size(blocks), || content::text(blocks, images))
}

/// About how many bytes the texts in blocks have.
fn size(blocks: &[Value]) -> usize {
    let members = blocks.iter().filter_map(Value::as_object).flat_map(|block| block.values());
    members.map(|member| member.as_str().map_or(8, str::len)).sum()
}

/// A list of content blocks as JSON; `None` for any other value.
fn content_of(value: &Bound<'_, PyAny>) -> Option<LargeJson> {
    let list = value.cast::<PyList>().ok()?;
    // Long lists of data are not converted to see that they are not content.
    let first = list.get_item(0).ok()?.cast_into::<PyDict>().ok()?;
    first.get_item(intern!(value.py(), "type")).ok().flatten()?.cast_into::<PyString>().ok()?;
    let converted = LargeJson::from(json::from_python(value).ok()?);
    content::blocks(&converted).is_some().then_some(converted)
}

/// The images of a result that an API can take.
pub fn images_of(result: &Bound<'_, PyDict>) -> PyResult<Vec<content::ImageData>> {
    let py = result.py();
    let images = |blocks: &[Value]| released(py, size(blocks), || content::images(blocks));
    if let Some(blocks) = blocks_of(result)? {
        return Ok(images(blocks.get().blocks()));
    }
    let content = result.get_item(intern!(py, "result"))?.as_ref().and_then(content_of);
    Ok(content.as_deref().and_then(Value::as_array).map(|blocks| images(blocks)).unwrap_or_default())
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
    match text_of(&value, blocks.as_ref().map(Bound::get), images)? {
        Some(text) => Ok(text),
        None => {
            // Nothing but images, which the API gets beside the text, needs no words.
            let has_images = images == ImageNotes::Omitted && !images_of(result)?.is_empty();
            Ok(if has_images { String::new() } else { nothing_text(lang_of(result)).to_owned() })
        }
    }
}

/// The language of the hub that made a result.
pub fn lang_of(result: &Bound<'_, PyDict>) -> Lang {
    let lang = result.getattr_opt(intern!(result.py(), "_lang")).ok().flatten();
    let lang = lang.and_then(|lang| lang.extract::<String>().ok());
    lang.and_then(|lang| Lang::parse(&lang)).unwrap_or_default()
}

fn nothing_text(lang: Lang) -> &'static str {
    lang.pick("Done; the tool returned no value.", "已完成，工具没有返回值。")
}

/// The value of a successful result as text.
#[pyfunction]
pub fn result_text<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyString>> {
    unicode::string(result.py(), &success_text(result, ImageNotes::Shown)?)
}

/// `[1.2 KB of binary data]`
#[pyfunction]
pub fn binary_note(bytes: usize) -> String {
    format!("[binary data, {}]", content::size(bytes))
}
