//! Results for a model: cut to their limit, and written in the form of an API.

use crate::classes::hub::PyHub;
use crate::classes::options::{as_text, named};
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::runtime::interpreter::released;
use crate::values::arguments::callable::{CallableKind, raised};
use crate::values::results::blocks::{images_of, lang_of, success_text};
use crate::values::unicode::{start_of, string};
use toolhub::hub::{CutText, Hub, ResultBudget, ResultLimit, SKILL_LIMIT, ShapeRequest, ShapedText};
use toolhub::invisible::visible;
use toolhub::model::Lang;
use toolhub::model_output::content::ImageNotes;
use toolhub::model_output::hits;
use toolhub::model_output::messages::{ModelAnswer, ResultFormat, conversation, write};
use toolhub::model_output::skill::SkillBlock;

/// The handle, and how many characters are shown of how many.
type ReportedCut = (String, usize, usize);

/// Id, whether the model gave it, whether it calls a custom tool, tool, result.
type GivenAnswer<'py> = (String, bool, bool, String, Bound<'py, PyDict>);

/// A result as text, cut to `limit` or to that of its kind of tool; and what was cut.
#[pyfunction]
#[pyo3(signature = (hub, result, limit=None))]
pub fn format_result<'py>(
    hub: &Bound<'py, PyHub>,
    result: &Bound<'py, PyDict>,
    limit: Option<usize>,
) -> PyResult<(Bound<'py, PyString>, Option<ReportedCut>)> {
    let core = hub.get().checked_core()?;
    let (text, cut) = shaped(core, result, limit, ResultBudget::Kind, None)?;
    Ok((string(hub.py(), &text)?, cut))
}

/// The results of a run as messages in a format, and what was cut of each. `found` is the format of the model's message.
#[pyfunction]
#[pyo3(signature = (hub, answers, format, found, limit=None) -> "tuple[list[dict[str, Any]], list[tuple[str, int, int] | None]]")]
pub fn write_answers<'py>(
    hub: &Bound<'py, PyHub>,
    answers: Vec<GivenAnswer<'py>>,
    format: &str,
    found: Option<&str>,
    limit: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Option<ReportedCut>>)> {
    let format = match format {
        "auto" => ResultFormat::answering(found),
        name => named("format", name)?,
    };
    let core = hub.get().checked_core()?;
    let mut cuts = Vec::with_capacity(answers.len());
    let written = answers.into_iter().map(|given| {
        let shaped = shaped(core, &given.4, limit, ResultBudget::Run, Some(format));
        // A result that cannot be read does not take the others along.
        let (text, cut) = shaped.or_else(|error| unreadable(hub.py(), &given.3, error))?;
        cuts.push(cut);
        answer(given, text, format)
    });
    let written = written.collect::<PyResult<_>>()?;
    let messages = to_python_released(hub.py(), written, |written| conversation(written, format))?;
    Ok((messages, cuts))
}

/// Whole results in a format: a text for tags, otherwise a list.
#[pyfunction]
pub fn write_results<'py>(
    py: Python<'py>,
    answers: Vec<GivenAnswer<'py>>,
    format: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let format = named("format", format)?;
    let written = answers.into_iter().map(|given| {
        let text = match failure_text(&given.4, Lang::default(), Some(format))? {
            Some(text) => text,
            None => seen(py, success_text(&given.4, image_notes(Some(format)))?),
        };
        answer(given, text, format)
    });
    let written = written.collect::<PyResult<_>>()?;
    to_python_released(py, written, |written| write(written, format))
}

/// What is made of the answers. Long texts are written and dropped without the GIL: the system needs milliseconds to take
/// back the memory of some megabytes.
fn to_python_released<'py>(
    py: Python<'py>,
    answers: Vec<ModelAnswer>,
    make: impl FnOnce(&[ModelAnswer]) -> Value + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let size = answers.iter().map(|answer| answer.text.len()).sum();
    let made = released(py, size, || make(&answers));
    let results = json::to_python(py, &made);
    released(py, size, || drop((made, answers)));
    results
}

/// A text without what is not visible.
fn seen(py: Python<'_>, text: String) -> String {
    released(py, text.len(), move || visible(&text).into_owned())
}

/// One page of a result that was cut.
#[pyfunction]
pub fn read_more(
    hub: &Bound<'_, PyHub>,
    handle: &Bound<'_, PyAny>,
    offset: usize,
    limit: usize,
) -> PyResult<String> {
    let handle = as_text("handle", handle)?.to_string_lossy();
    let core = hub.get().checked_core()?;
    let reader = call_scope::principal(hub.py())?;
    let page = hub.py().detach(|| core.texts.page(&handle, (offset, limit), reader.as_deref()));
    page.map(|page| page.text).map_err(|error| tool_error(hub.py(), &error.in_language(core.options.lang)))
}

/// The text of a result that raises when it is read. What is not an error of the value, such as Ctrl-C, is raised.
fn unreadable(py: Python<'_>, tool: &str, error: PyErr) -> PyResult<(String, Option<ReportedCut>)> {
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    Ok((raised(py, CallableKind::Tool, tool, &error).message.into_owned(), None))
}

/// `None`: a text for any model.
fn image_notes(format: Option<ResultFormat>) -> ImageNotes {
    if format.is_some_and(ResultFormat::takes_images) { ImageNotes::Omitted } else { ImageNotes::Shown }
}

fn answer(given: GivenAnswer<'_>, text: String, format: ResultFormat) -> PyResult<ModelAnswer> {
    let (id, id_from_model, is_custom, tool, result) = given;
    let success = is_success(&result)?;
    let warnings = meta(&result, intern!(result.py(), "warnings"))?;
    let images = if success && format.takes_images() { images_of(&result)? } else { Vec::new() };
    Ok(ModelAnswer {
        id,
        id_from_model,
        is_custom,
        tool,
        success,
        text,
        warnings: warnings.and_then(|warnings| warnings.extract().ok()).unwrap_or_default(),
        images,
        lang: lang_of(&result),
    })
}

/// A result as a text of a bounded length, and what was cut.
fn shaped(
    hub: &Hub,
    result: &Bound<'_, PyDict>,
    limit: Option<usize>,
    budget: ResultBudget,
    format: Option<ResultFormat>,
) -> PyResult<(String, Option<ReportedCut>)> {
    let py = result.py();
    let request = match failure_text(result, hub.options.lang, format)? {
        // Sentences are short; what a server reports may not be.
        Some(full) => {
            let chars = hub.options.result_limit.max(limit.unwrap_or_default());
            ShapeRequest { full, hits: None, skill: None, limit: ResultLimit { chars, hits: None } }
        }
        None => success_request(hub, result, limit, budget, format)?,
    };
    let reader = call_scope::principal(py)?;
    let ShapedText { text, cut } = py.detach(|| {
        let shaped = hub.shape(&request, reader.as_deref());
        drop(request);
        shaped
    });
    let cut = cut.map(|CutText { handle, shown, total }| (handle, shown, total));
    if let Some((handle, _, _)) = &cut {
        let meta = result.getattr(intern!(py, "meta"))?;
        meta.set_item(intern!(py, "truncated"), true)?;
        meta.set_item(intern!(py, "handle"), handle)?;
    }
    Ok((text, cut))
}

fn success_request(
    hub: &Hub,
    result: &Bound<'_, PyDict>,
    limit: Option<usize>,
    budget: ResultBudget,
    format: Option<ResultFormat>,
) -> PyResult<ShapeRequest> {
    let py = result.py();
    let tool = text_in(meta(result, intern!(py, "tool"))?);
    let value = result.get_item(intern!(py, "result"))?;
    if is_skill(hub, result, &tool)?
        && let Some(answer) = value.as_ref().and_then(|value| json::from_python(value).ok())
    {
        let chars = limit.unwrap_or(SKILL_LIMIT);
        let skill = SkillBlock::of(&answer);
        let full = match &skill {
            Some(skill) => Some(skill.with(&skill.instructions)),
            None => answer.get("text").and_then(Value::as_str).map(str::to_owned),
        };
        if let Some(full) = full {
            let limit = ResultLimit { chars, hits: None };
            return Ok(ShapeRequest { full: seen(py, full), hits: None, skill, limit });
        }
    }
    let own = hub.result_limit(&tool, budget, limit);
    let hits = match (own.hits, value.and_then(|value| value.cast_into::<PyList>().ok())) {
        (Some(count), Some(list)) => hit_lines(&list, count),
        _ => None,
    };
    let full = seen(py, success_text(result, image_notes(format))?);
    Ok(ShapeRequest { full, hits, skill: None, limit: own })
}

/// The first hits of a list as lines, and whether there are more; `None` if it is not a list of hits.
fn hit_lines(list: &Bound<'_, PyList>, count: usize) -> Option<(String, bool)> {
    let first = list.get_slice(0, count).into_any();
    let first = json::from_python(&first).ok()?;
    let lines = hits::lines(first.as_array()?)?;
    Some((visible(&lines).into_owned(), list.len() > count))
}

/// Whether a skill with instructions gave the result.
fn is_skill(hub: &Hub, result: &Bound<'_, PyDict>, tool: &str) -> PyResult<bool> {
    let source = text_in(meta(result, intern!(result.py(), "source"))?);
    let snapshot = hub.registry.load();
    let entry = snapshot.family(tool).filter(|_| source == "skills");
    Ok(entry.is_some_and(|entry| entry.candidates.iter().any(|one| one.spec().location.is_some())))
}

/// The sentence of a failure; `None` for a success.
fn failure_text(
    result: &Bound<'_, PyDict>,
    lang: Lang,
    format: Option<ResultFormat>,
) -> PyResult<Option<String>> {
    if is_success(result)? {
        return Ok(None);
    }
    let error = text_in(Some(result.getattr(intern!(result.py(), "error"))?));
    let is_labelled = format.is_some_and(ResultFormat::labels_errors);
    let label = if is_labelled { "" } else { lang.pick("Error: ", "错误：") };
    let py = result.py();
    Ok(Some(released(py, error.len(), move || visible(&format!("{label}{error}")).into_owned())))
}

fn is_success(result: &Bound<'_, PyDict>) -> PyResult<bool> {
    result.getattr(intern!(result.py(), "success"))?.is_truthy()
}

/// An entry of `_meta`.
fn meta<'py>(result: &Bound<'py, PyDict>, key: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let meta = result.get_item(intern!(result.py(), "_meta"))?;
    meta.and_then(|meta| meta.cast_into::<PyDict>().ok()).map_or(Ok(None), |meta| meta.get_item(key))
}

fn text_in(value: Option<Bound<'_, PyAny>>) -> String {
    let value = value.filter(|value| !value.is_none());
    value
        .and_then(|value| value.str().ok())
        .and_then(|text| start_of(&text, usize::MAX).ok())
        .unwrap_or_default()
}
