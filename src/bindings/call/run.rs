//! What a model's message asks for: its calls, and which of them may run together.

use crate::bindings::hub::PyHub;
use crate::bindings::parse::{PyParsedCall, parse_text};
use crate::bindings::prompt::tool_with_vendor_name;
use crate::model::Safety;
use crate::registry::NameEntry;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use serde_json::json;
use std::sync::Arc;

/// Formats whose arguments have types already.
const TYPED: [&str; 4] = ["openai", "openai_responses", "anthropic", "gemini"];

/// The calls, the text around them, the format, and the groups of calls that run together, by their places in the list.
type PlannedMessage = (Vec<Py<PyParsedCall>>, String, Option<String>, Vec<Vec<usize>>);

/// Parses a model's message, with the schemas of the tools that it names, and groups its calls.
#[pyfunction]
pub fn plan_run(
    hub: &Bound<'_, PyHub>,
    message: &Bound<'_, PyAny>,
    format: &str,
) -> PyResult<PlannedMessage> {
    let py = hub.py();
    hub.get().check_process()?;
    let mut parsed = parse_text(message, format, None)?;
    let entries = entries(hub, &parsed.0)?;
    let is_typed = parsed.2.as_deref().is_some_and(|format| TYPED.contains(&format));
    if !is_typed && entries.iter().any(Option::is_some) {
        // Values between tags are plain text; the schemas of the named tools give them their types.
        let tools = PyList::empty(py);
        for (call, entry) in parsed.0.iter().zip(&entries) {
            if let Some(speaker) = entry.as_ref().and_then(|entry| first_candidate(entry)) {
                let name = call.get().name(py).to_string_lossy().into_owned();
                let tool = json!({"name": name, "parameters": *speaker.spec().parameters});
                tools.append(crate::bindings::json::to_python(py, &tool)?)?;
            }
        }
        parsed = parse_text(message, format, Some(tools.as_any()))?;
    }
    let groups = groups(&self::entries(hub, &parsed.0)?);
    Ok((parsed.0, parsed.1, parsed.2, groups))
}

fn entries(hub: &Bound<'_, PyHub>, calls: &[Py<PyParsedCall>]) -> PyResult<Vec<Option<Arc<NameEntry>>>> {
    let py = hub.py();
    let snapshot = hub.get().core().registry.load();
    let find = |name: &Bound<'_, PyString>| {
        let given = snapshot.get(&name.to_string_lossy()).cloned();
        given.or_else(|| snapshot.get(&tool_with_vendor_name(hub.get(), name)?).cloned())
    };
    Ok(calls.iter().map(|call| find(call.get().name(py))).collect())
}

fn first_candidate(entry: &NameEntry) -> Option<&Arc<crate::registry::Candidate>> {
    entry.candidates.iter().min_by_key(|one| (one.priority, one.id))
}

/// Calls that may act run alone, in their place among the others; all others run together with their neighbours.
fn groups(entries: &[Option<Arc<NameEntry>>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut open = false;
    for (place, entry) in entries.iter().enumerate() {
        let alone = entry.as_ref().is_some_and(|entry| runs_alone(entry));
        match groups.last_mut().filter(|_| open && !alone) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
        open = !alone;
    }
    groups
}

fn runs_alone(entry: &NameEntry) -> bool {
    entry.candidates.iter().any(|one| one.spec().effects.safety == Safety::MayAct)
}
