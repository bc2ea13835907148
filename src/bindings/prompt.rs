//! Prompts and schemas for vendors' APIs, for Python.

use super::hub::{PyHub, VALUES_OF_A_TOOL};
use super::json;
use super::options::parse_lang;
use super::slices::Slices;
use super::text::PyTokenizer;
use crate::hub::PromptRequest;
use crate::prompt::vendor::{self, Vendor, VendorNames};
use crate::prompt::{Count, PromptStyle};
use crate::registry::{Candidate, Snapshot};
use crate::truncate::TokenCounter;
use crate::truncate::tokens::Estimate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::Value;
use std::sync::Arc;

/// The names of all tools, sorted.
#[pyfunction]
#[pyo3(signature = (hub) -> "list[str]")]
pub fn tool_names<'py>(hub: &Bound<'py, PyHub>) -> PyResult<Bound<'py, PyList>> {
    hub.get().check_process()?;
    let (py, snapshot) = (hub.py(), hub.get().core().registry.snapshot());
    let (names, mut slices) = (PyList::empty(py), Slices::new());
    for name in py.detach(|| snapshot.sorted_names()).iter() {
        names.append(&**name)?;
        slices.step(py);
    }
    Ok(names)
}

/// The candidate that describes each name, as in `ToolInfo`. Names that were removed meanwhile are skipped.
fn speakers(snapshot: &Snapshot, names: &[String]) -> Vec<Arc<Candidate>> {
    names.iter().filter_map(|name| snapshot.get(name)?.primary().cloned()).collect()
}

/// The prompt with the core tools and these others, most relevant first, or all; `more` further tools can be called.
#[pyfunction]
#[pyo3(signature = (hub, base, core, others, more, style, lang, budget=None, tokenizer=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of hub.system_prompt")]
pub fn prompt_text(
    hub: &Bound<'_, PyHub>,
    base: &str,
    core: Vec<String>,
    others: Option<Vec<String>>,
    more: usize,
    style: &str,
    lang: &str,
    budget: Option<usize>,
    tokenizer: Option<&Bound<'_, PyTokenizer>>,
) -> PyResult<String> {
    hub.get().check_process()?;
    let style = PromptStyle::parse(style).ok_or_else(|| {
        PyValueError::new_err(format!("style must be 'detailed', 'compact' or 'names', got {style:?}"))
    })?;
    let lang = parse_lang(lang)?;
    let counter = tokenizer.map(|tokenizer| tokenizer.get().counter());
    let showing = PromptRequest { base, core: &core, others: others.as_deref(), more, style, lang };
    let hub_core = hub.get().core();
    let made = hub.py().detach(|| {
        let counter: &dyn TokenCounter = counter.as_deref().unwrap_or(&Estimate);
        let count = |text: &str| counter.count(text);
        hub_core.prompt(&showing, budget.map(|budget| (budget, &count as Count<'_>)))
    });
    made.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The tools for an API, and the skipped ones with the reason.
type VendorTools<'py> = (Bound<'py, PyList>, Vec<(String, String)>);

fn vendor_called(name: &str) -> PyResult<Vendor> {
    Vendor::parse(name).ok_or_else(|| PyValueError::new_err(format!("there is no vendor {name:?}")))
}

/// These tools in the form of a vendor's API.
#[pyfunction]
pub fn vendor_tools<'py>(
    hub: &Bound<'py, PyHub>,
    names: &Bound<'py, PyList>,
    vendor: &str,
) -> PyResult<VendorTools<'py>> {
    let py = hub.py();
    hub.get().check_process()?;
    let vendor = vendor_called(vendor)?;
    let names = in_slices(names)?;
    let snapshot = hub.get().core().registry.snapshot();
    let made: Vec<_> = py.detach(|| {
        let shown = speakers(&snapshot, &names);
        drop(names);
        let all = VendorNames::of(snapshot.entries().map(|(name, _)| &**name));
        let declared = |one: &Arc<Candidate>| vendor::declare(one.spec(), vendor, &all);
        shown.iter().map(|candidate| (candidate.spec().name.to_string(), declared(candidate))).collect()
    });
    let (declared, mut skipped, mut slices) = (PyList::empty(py), Vec::new(), Slices::new());
    for (name, made) in made {
        match made {
            Ok(tool) => {
                declared.append(json::to_python_in(py, &tool.value, &mut slices)?)?;
                hub.get().vendor_forms().declared(name, vendor, tool.changed);
                slices.step_by(py, VALUES_OF_A_TOOL);
            }
            Err(reason) => skipped.push((name, reason)),
        }
    }
    Ok((declared, skipped))
}

/// The names in a list that may be long.
fn in_slices(names: &Bound<'_, PyList>) -> PyResult<Vec<String>> {
    let (mut read, mut slices) = (Vec::with_capacity(names.len()), Slices::new());
    while let Ok(name) = names.get_item(read.len()) {
        read.push(name.extract()?);
        slices.step(names.py());
    }
    Ok(read)
}

/// The tool with this name in an API; None if there is none.
#[pyfunction]
pub fn original_name(hub: &Bound<'_, PyHub>, vendor_name: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    hub.get().check_process()?;
    Ok(tool_with_vendor_name(hub.get(), vendor_name))
}

pub fn tool_with_vendor_name(hub: &PyHub, vendor_name: &Bound<'_, PyString>) -> Option<String> {
    // No tool has a name with a lone surrogate.
    let vendor_name = vendor_name.to_str().ok()?;
    let snapshot = hub.core().registry.load();
    if snapshot.get(vendor_name).is_some() {
        return Some(vendor_name.to_owned());
    }
    vendor::original_name(vendor_name, snapshot.entries().map(|(name, _)| &**name)).map(str::to_owned)
}

/// A call as an API sent it, with the name and the arguments of the tool.
#[pyfunction]
pub fn from_vendor_form<'py>(
    hub: &Bound<'py, PyHub>,
    name: &Bound<'py, PyString>,
    arguments: Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyAny>)> {
    let py = hub.py();
    hub.get().check_process()?;
    // A string with a lone surrogate is not the name of a tool.
    let Ok(given) = name.to_str() else { return Ok((name.clone(), arguments)) };
    let known = hub.get().core().registry.load().get(given).is_some();
    let original = if known { None } else { tool_with_vendor_name(hub.get(), name) };
    let tool = original.as_deref().unwrap_or(given);
    let restored = match (hub.get().vendor_forms().of(tool), arguments.cast_exact::<PyDict>()) {
        (Some(vendor), Ok(given)) => restored(hub, tool, given, vendor)?,
        _ => None,
    };
    let name = original.as_deref().map_or_else(|| name.clone(), |original| PyString::new(py, original));
    Ok((name, restored.unwrap_or(arguments)))
}

/// `None` when the arguments are fine as they are.
fn restored<'py>(
    hub: &Bound<'py, PyHub>,
    name: &str,
    arguments: &Bound<'py, PyDict>,
    vendor: Vendor,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let speaker = speakers(&hub.get().core().registry.load(), &[name.to_owned()]).pop();
    // Arguments that are not JSON are reported by validation.
    let (Some(speaker), Ok(Value::Object(mut given))) = (speaker, json::from_python(arguments.as_any()))
    else {
        return Ok(None);
    };
    vendor::restore(&speaker.spec().parameters, &mut given, vendor);
    json::to_python(hub.py(), &Value::Object(given)).map(Some)
}
