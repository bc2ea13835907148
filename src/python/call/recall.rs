//! A call of a run: what the ledger knows of it, and giving its result again.

use super::state::{CallDriver, Next};
use crate::json;
use crate::once::intern;
use crate::result::{refused, succeeded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use tokio::sync::oneshot;
use toolhub::hub::kept_error;
use toolhub::plan::RecallRequest;

impl CallDriver {
    pub(super) fn recall<'py>(&self, py: Python<'py>, request: &RecallRequest) -> PyResult<Next<'py>> {
        let (answer, answered) = oneshot::channel();
        request.ask(move |memory| drop(answer.send(memory)));
        let ask = async { answered.await.unwrap_or_else(|_| Err("it is closed".to_owned())) };
        self.await_core(py, ask, |this, _, memory| {
            this.plan.lock().recalled(memory);
            Ok(Next::Plan)
        })
    }

    /// The result that the run has kept.
    pub(super) fn replayed<'py>(&self, py: Python<'py>, kept: &Value) -> PyResult<Bound<'py, PyDict>> {
        let name = self.plan.lock().request().target.name().clone();
        let result = match kept.get("success").and_then(Value::as_bool) {
            Some(true) => {
                let value = json::to_python(py, kept.get("result").unwrap_or(&Value::Null))?;
                succeeded(py, &name, value.unbind())?
            }
            _ => refused(py, Some(&name), &kept_error(kept))?,
        };
        let meta = result.as_any().get_item(intern!(py, "_meta"))?;
        meta.set_item(intern!(py, "replayed"), true)?;
        if let Some(id) = kept.get("paused").and_then(Value::as_str) {
            meta.set_item(intern!(py, "paused"), id)?;
        }
        Ok(result)
    }
}
