//! Prompts and schemas for vendors' APIs, as Python sees them.

use super::hub::Hub;
use super::json;
use super::text::Tokenizer;
use crate::hub::Showing;
use crate::prompt::vendor::{self, Names, Vendor};
use crate::prompt::{Count, Lang, Style};
use crate::registry::{Candidate as Registered, Snapshot};
use crate::truncate::TokenCounter;
use crate::truncate::tokens::Estimate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::Value;
use std::sync::Arc;

/// The names of all tools in an order that does not depend on when they were registered.
#[pyfunction]
#[pyo3(signature = (hub) -> "list[str]")]
pub fn tool_names<'py>(hub: &Bound<'py, Hub>) -> PyResult<Bound<'py, PyList>> {
    PyList::new(hub.py(), hub.get().core().registry.load().sorted_names().iter().map(|name| &**name))
}

/// The candidate of each name that speaks for it, as in `ToolInfo`. Names that are gone by now are left out.
fn speakers(snapshot: &Snapshot, names: &[String]) -> Vec<Arc<Registered>> {
    names.iter().filter_map(|name| snapshot.get(name)?.speaker().cloned()).collect()
}

/// The prompt with the core tools and these others, most relevant first, or all; `more` can be called besides.
#[pyfunction]
#[pyo3(signature = (hub, base, core, others, more, style, lang, budget=None, tokenizer=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of hub.system_prompt")]
pub fn prompt_text(
    hub: &Bound<'_, Hub>,
    base: &str,
    core: Vec<String>,
    others: Option<Vec<String>>,
    more: usize,
    style: &str,
    lang: &str,
    budget: Option<usize>,
    tokenizer: Option<&Bound<'_, Tokenizer>>,
) -> PyResult<String> {
    let style = Style::parse(style).ok_or_else(|| {
        PyValueError::new_err(format!("style must be 'detailed', 'compact' or 'names', got {style:?}"))
    })?;
    let lang = Lang::parse(lang)
        .ok_or_else(|| PyValueError::new_err(format!("lang must be 'en' or 'zh', got {lang:?}")))?;
    let counter = tokenizer.map(|tokenizer| tokenizer.get().counter());
    let showing = Showing { base, core: &core, others: others.as_deref(), more, style, lang };
    let hub_core = hub.get().core();
    let made = hub.py().detach(|| {
        let counter: &dyn TokenCounter = counter.as_deref().unwrap_or(&Estimate);
        let count = |text: &str| counter.count(text);
        hub_core.prompt(&showing, budget.map(|budget| (budget, &count as Count<'_>)))
    });
    made.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Tools for an API; those that were left out, with the reason; and those whose arguments need the way back.
type Declared<'py> = (Bound<'py, PyList>, Vec<(String, String)>, Vec<String>);

fn vendor_called(name: &str) -> PyResult<Vendor> {
    Vendor::parse(name).ok_or_else(|| PyValueError::new_err(format!("there is no vendor {name:?}")))
}

/// These tools in the form of a vendor's API.
#[pyfunction]
pub fn vendor_tools<'py>(hub: &Bound<'py, Hub>, names: Vec<String>, vendor: &str) -> PyResult<Declared<'py>> {
    let py = hub.py();
    let vendor = vendor_called(vendor)?;
    let snapshot = hub.get().core().registry.snapshot();
    let shown = speakers(&snapshot, &names);
    let made: Vec<_> = py.detach(|| {
        let all = Names::of(snapshot.entries().map(|(name, _)| &**name));
        shown.iter().map(|candidate| vendor::declare(candidate.spec(), vendor, &all)).collect()
    });
    let (declared, mut skipped, mut changed) = (PyList::empty(py), Vec::new(), Vec::new());
    for (candidate, made) in shown.iter().zip(made) {
        let name = candidate.spec().name.to_string();
        match made {
            Ok(tool) => {
                declared.append(json::to_python(py, &tool.value)?)?;
                if tool.changed {
                    changed.push(name);
                }
            }
            Err(reason) => skipped.push((name, reason)),
        }
    }
    Ok((declared, skipped, changed))
}

/// The tool that an API knows by this name; None when there is none.
#[pyfunction]
pub fn original_name(hub: &Bound<'_, Hub>, vendor_name: &Bound<'_, PyString>) -> Option<String> {
    // A name with half a character in it is nobody's.
    let vendor_name = vendor_name.to_str().ok()?;
    let snapshot = hub.get().core().registry.load();
    if snapshot.get(vendor_name).is_some() {
        return Some(vendor_name.to_owned());
    }
    vendor::original_name(vendor_name, snapshot.entries().map(|(name, _)| &**name)).map(str::to_owned)
}

/// Arguments as a vendor's API gave them, as the tool means them.
#[pyfunction]
pub fn restore_arguments<'py>(
    hub: &Bound<'py, Hub>,
    name: &str,
    arguments: &Bound<'py, PyDict>,
    vendor: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let vendor = vendor_called(vendor)?;
    let speaker = speakers(&hub.get().core().registry.load(), &[name.to_owned()]).pop();
    // What is no JSON is told by whoever checks the arguments.
    let (Some(speaker), Ok(Value::Object(mut given))) = (speaker, json::from_python(arguments.as_any()))
    else {
        return Ok(arguments.clone().into_any());
    };
    vendor::restore(&speaker.spec().parameters, &mut given, vendor);
    json::to_python(hub.py(), &Value::Object(given))
}
