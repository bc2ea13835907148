//! What a model's message asks for: its calls, and the order in which they are made.

use super::services::failure;
use crate::classes::hub::PyHub;
use crate::classes::parse::{PyParsedCall, options, parse_message};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;
use std::sync::Arc;
use toolhub::parse::ToolSchemas;
use toolhub::plan::{CallVerdict, MessageOrder, MessageTurn};
use toolhub::prompt::vendor;
use toolhub::registry::{NameEntry, Snapshot};

/// The calls, the text around them, and the format.
type PlannedMessage = (Vec<Py<PyParsedCall>>, Py<PyString>, Option<String>);

/// Parses a model's message with the schemas of the tools that it names.
#[pyfunction]
#[pyo3(signature = (hub, message, format, is_plain=false, reasoning="auto"))]
pub fn plan_run(
    hub: &Bound<'_, PyHub>,
    message: &Bound<'_, PyAny>,
    format: &str,
    is_plain: bool,
    reasoning: &str,
) -> PyResult<PlannedMessage> {
    hub.get().check_process()?;
    let schemas = Arc::new(HubSchemas(hub.get().core().registry.snapshot()));
    let options = options(format, None, reasoning)?.with_schemas(schemas);
    parse_message("run()", message, &options, is_plain)
}

/// The order of the calls of one message: who waits for whom, and what is not made.
#[pyclass(name = "MessageOrder", frozen, module = "toolhub._core")]
pub struct PyMessageOrder(MessageOrder);

impl PyMessageOrder {
    pub fn turn(&self, place: usize, tool: Arc<str>) -> MessageTurn {
        self.0.turn(place, tool)
    }
}

#[pymethods]
impl PyMessageOrder {
    #[new]
    fn new(calls: usize) -> Self {
        PyMessageOrder(MessageOrder::new(calls))
    }

    /// The call at this place, counted from 0, was answered without being made.
    fn answered(&self, place: usize, tool: &str, result: &Bound<'_, PyAny>) {
        self.turn(place, Arc::from(tool)).end(CallVerdict::of(failure(result)));
    }
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
