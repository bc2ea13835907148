//! What a model's message asks for: its calls, and which of them may run together.

use crate::bindings::hub::PyHub;
use crate::bindings::parse::{PyParsedCall, options, parse_message};
use crate::model::Safety;
use crate::parse::ToolSchemas;
use crate::prompt::vendor;
use crate::registry::{NameEntry, Snapshot};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;
use std::sync::Arc;

/// The calls, the text around them, the format, and the groups of calls that run together, by their positions in the list.
type PlannedMessage = (Vec<Py<PyParsedCall>>, Py<PyString>, Option<String>, Vec<Vec<usize>>);

/// Parses a model's message with the schemas of the tools that it names, and groups its calls.
#[pyfunction]
#[pyo3(signature = (hub, message, format, is_plain=false, reasoning="auto"))]
pub fn plan_run(
    hub: &Bound<'_, PyHub>,
    message: &Bound<'_, PyAny>,
    format: &str,
    is_plain: bool,
    reasoning: &str,
) -> PyResult<PlannedMessage> {
    let py = hub.py();
    hub.get().check_process()?;
    let schemas = Arc::new(HubSchemas(hub.get().core().registry.snapshot()));
    let options = options(format, None, reasoning)?.with_schemas(schemas.clone());
    let (calls, text, format) = parse_message("run()", message, &options, is_plain)?;
    let name = |call: &Py<PyParsedCall>| call.get().name(py).to_string_lossy().into_owned();
    let entries: Vec<_> = calls.iter().map(|call| schemas.entry(&name(call))).collect();
    let groups = groups(&entries);
    Ok((calls, text, format, groups))
}

/// The schemas of a hub's tools, by their own names and by those that they have in an API. Values between tags are plain
/// text; the schemas give them their types.
struct HubSchemas(Arc<Snapshot>);

impl HubSchemas {
    fn entry(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.0.get(name).or_else(|| {
            let names = self.0.entries().map(|(name, _)| &**name);
            self.0.get(vendor::original_name(name, names)?)
        })
    }
}

impl ToolSchemas for HubSchemas {
    fn parameters(&self, tool: &str) -> Option<&Value> {
        self.entry(tool)?.primary().map(|candidate| &*candidate.spec().parameters)
    }

    fn is_empty(&self) -> bool {
        self.0.entries().next().is_none()
    }

    fn are_given(&self) -> bool {
        true
    }

    fn each(&self, show: &mut dyn FnMut(&str, &Value)) {
        for (name, entry) in self.0.entries() {
            if let Some(candidate) = entry.primary() {
                show(name, &candidate.spec().parameters);
            }
        }
    }
}

/// Calls that may act run alone, in their place among the others; all others run together with their neighbours.
fn groups(entries: &[Option<&Arc<NameEntry>>]) -> Vec<Vec<usize>> {
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
