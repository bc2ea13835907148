//! Prompts and schemas for vendors' APIs, for Python.

use crate::classes::hub::PyHub;
use crate::classes::options::named;
use crate::classes::search::ToolChoice;
use crate::prelude::*;
use crate::values::json::LargeJson;
use crate::values::results::text::PyTokenizer;
use crate::values::unicode::string;
use std::collections::HashMap;
use toolhub::hub::PromptRequest;
use toolhub::prompt::Count;
use toolhub::prompt::vendor::{self, Vendor, VendorNames};
use toolhub::truncate::TokenCounter;
use toolhub::truncate::tokens::Estimate;

/// The prompt with up to `limit` of the chosen tools after the first ones; without a choice `core` first, then all others.
#[pyfunction]
#[pyo3(signature = (hub, base, core, choice, limit, style, lang, budget=None, tokenizer=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of hub.system_prompt")]
pub fn prompt_text<'py>(
    hub: &Bound<'py, PyHub>,
    base: &str,
    core: Vec<String>,
    choice: Option<&Bound<'_, ToolChoice>>,
    limit: Option<usize>,
    style: &str,
    lang: &str,
    budget: Option<usize>,
    tokenizer: Option<&Bound<'_, PyTokenizer>>,
) -> PyResult<Bound<'py, PyString>> {
    let style = named("style", style)?;
    let lang = named("lang", lang)?;
    let counter = tokenizer.map(|tokenizer| tokenizer.get().counter.clone());
    let choice = choice.map(|choice| &choice.get().0);
    let hub_core = hub.get().checked_core()?;
    let made = hub.py().detach(|| {
        let (core, others, more) = match choice {
            None => (core, None, 0),
            Some(choice) => {
                let (first, mut others, more) = choice.for_prompt(limit);
                // The tool that reads cut results is shown in any case: the model has a handle for it.
                let reader = hub_core.read_more_tool().map(str::to_owned);
                others.extend(reader.filter(|name| !first.contains(name) && !others.contains(name)));
                (first, Some(others), more)
            }
        };
        let counter: &dyn TokenCounter = counter.as_deref().unwrap_or(&Estimate);
        let count = |text: &str| counter.count(text);
        let showing = PromptRequest { base, core: &core, others: others.as_deref(), more, style, lang };
        hub_core.prompt(&showing, budget.map(|budget| (budget, &count as Count<'_>)))
    });
    let text = made.map_err(PyValueError::new_err)?;
    string(hub.py(), &text)
}

/// Appends up to `limit` of the chosen tools to a list, in the form of a vendor's API. Returns the skipped ones, with the
/// reason.
#[pyfunction]
#[pyo3(signature = (hub, choice, vendor, declared, limit=None))]
pub fn vendor_tools(
    hub: &Bound<'_, PyHub>,
    choice: &Bound<'_, ToolChoice>,
    vendor: &str,
    declared: &Bound<'_, PyList>,
    limit: Option<usize>,
) -> PyResult<Vec<(String, String)>> {
    let py = hub.py();
    let vendor = named("vendor", vendor)?;
    let (core, choice) = (hub.get().checked_core()?, &choice.get().0);
    let made: Vec<_> = py.detach(|| {
        let snapshot = core.registry.snapshot();
        let mut names = choice.names(limit);
        // As in a prompt.
        names.extend(core.read_more_tool().filter(|name| !names.contains(name)));
        let all = VendorNames::of(names.iter().copied(), snapshot.entries().map(|(name, _)| &**name));
        // Names that were removed meanwhile are skipped.
        let specs = names.into_iter().filter_map(|name| snapshot.get(name)?.spec());
        specs.map(|spec| (spec.name.to_string(), vendor::declare(spec, vendor, &all))).collect()
    });
    let mut skipped = Vec::new();
    for (name, made) in made {
        match made {
            Ok(tool) => {
                declared.append(json::to_python(py, &tool.value)?)?;
                hub.get().vendor_forms.declared(name, vendor, tool.changed);
            }
            Err(reason) => skipped.push((name, reason)),
        }
    }
    Ok(skipped)
}

/// The tool that has this name in an API alone; None if there is none.
#[pyfunction]
pub fn original_name(hub: &Bound<'_, PyHub>, vendor_name: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    let snapshot = hub.get().checked_core()?.registry.load();
    // No tool has a name with a lone surrogate.
    let unknown = vendor_name.to_str().ok().filter(|name| snapshot.find(name).is_none());
    let names = || snapshot.entries().map(|(name, _)| &**name);
    Ok(unknown.and_then(|name| vendor::original_name(name, names())).map(str::to_owned))
}

/// A call as an API sent it, in a message of this format if that is known, with the name and the arguments of the tool.
pub fn from_form_of<'py>(
    hub: &Bound<'py, PyHub>,
    name: &Bound<'py, PyString>,
    arguments: Bound<'py, PyAny>,
    api: Option<&str>,
) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyAny>)> {
    let py = hub.py();
    // A string with a lone surrogate is not the name of a tool.
    let Ok(given) = name.to_str() else { return Ok((name.clone(), arguments)) };
    let original = original_name(hub, name)?;
    let tool = original.as_deref().unwrap_or(given);
    let restored = match (hub.get().vendor_forms.of(tool, api), arguments.cast_exact::<PyDict>()) {
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
    let entry = hub.get().core().registry.load().find(name);
    let spec = entry.as_ref().and_then(|entry| entry.spec());
    // Arguments that are not JSON are reported by validation.
    let (Some(spec), Ok(Value::Object(mut given))) = (spec, json::from_python(arguments.as_any())) else {
        return Ok(None);
    };
    let restored = hub.py().detach(|| {
        vendor::restore(&spec.parameters, &mut given, vendor);
        given
    });
    json::to_python(hub.py(), &LargeJson(Value::Object(restored))).map(Some)
}

/// The tools whose arguments an API sends in another form than the tool takes them, and the vendors for which each was
/// declared, the last one last.
#[derive(Default)]
pub struct VendorForms(Mutex<HashMap<String, Vec<Vendor>>>);

impl VendorForms {
    pub fn declared(&self, tool: String, vendor: Vendor, changed: bool) {
        let mut forms = self.0.lock();
        if changed || forms.contains_key(&tool) {
            let known = forms.entry(tool).or_default();
            known.retain(|one| *one != vendor);
            known.push(vendor);
        }
    }

    /// The form that a call has: the last one that was declared for the API which sent it, or the last one of all.
    pub fn of(&self, tool: &str, api: Option<&str>) -> Option<Vendor> {
        let forms = self.0.lock();
        let known = forms.get(tool)?;
        let sent = known.iter().rfind(|vendor| api.is_some_and(|api| vendor.is_of(api)));
        sent.or(known.last()).copied()
    }
}
