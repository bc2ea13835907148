//! What a Python tool can do during a call that came through the gateway: report progress, and ask its caller.

use super::bridge::{self, BridgeFuture};
use super::json::{self, JsonValue};
use super::once::{ForkSafeOnce, intern};
use crate::error::{ErrorKind, HubError};
use crate::tool::CallContextExtras;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// The call that the current code is a part of.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CallScope(CallContextExtras);

impl CallScope {
    pub fn new(extras: CallContextExtras) -> Self {
        CallScope(extras)
    }

    /// Makes this the call of everything that runs in `context`.
    pub fn enter(self, context: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = context.py();
        let set = variable(py)?.getattr(intern!(py, "set"))?;
        context.call_method1(intern!(py, "run"), (set, Bound::new(py, self)?)).map(drop)
    }
}

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    let make = || {
        // SAFETY: a name that ends with a zero byte, no default; the GIL is held. A new reference or an error.
        let made = unsafe { ffi::PyContextVar_New(c"toolhub_call".as_ptr(), std::ptr::null_mut()) };
        // SAFETY: see above.
        unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(Bound::unbind)
    };
    VARIABLE.get_or_try_init(py, make).map(|variable| variable.bind(py))
}

/// The call that this code is a part of; None outside of one that came through the gateway.
#[pyfunction]
pub fn current_call_scope(py: Python<'_>) -> PyResult<Option<Py<CallScope>>> {
    let found = variable(py)?.call_method1(intern!(py, "get"), (py.None(),))?;
    Ok(found.cast_into::<CallScope>().ok().map(Bound::unbind))
}

#[pymethods]
impl CallScope {
    /// Sends a progress report to the caller, if it wants any.
    #[pyo3(signature = (progress, total=None, message=None))]
    fn report(
        &self,
        py: Python<'_>,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> PyResult<()> {
        let Some(report) = &self.0.progress else { return Ok(()) };
        if !progress.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(PyValueError::new_err("progress and total must be finite numbers"));
        }
        let mut update = Map::from_iter([("progress".to_owned(), number(progress))]);
        update.extend(total.map(|total| ("total".to_owned(), number(total))));
        update.extend(message.map(|message| ("message".to_owned(), json!(message))));
        let update = Value::Object(update);
        py.detach(|| report(&update));
        Ok(())
    }

    /// Whether the caller answers questions.
    #[getter]
    fn can_ask(&self) -> bool {
        self.0.ask.is_some()
    }

    /// Awaits the caller's answer to a question of this method.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        method: String,
        params: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        let params = json::from_python(params)
            .map_err(|reason| PyValueError::new_err(format!("the question must be JSON: {reason}")))?;
        let ask = self.0.ask.clone();
        bridge::run(py, async move {
            let Some(ask) = ask else {
                let text = "The caller of this tool cannot be asked.";
                return Err(HubError::new(ErrorKind::NotAllowed, text));
            };
            let answer = (ask.ask)(&method, params).await;
            answer.map(JsonValue).map_err(|(code, message)| HubError {
                code: Some(code),
                ..HubError::new(ErrorKind::Rpc, message)
            })
        })
    }
}

/// Whole numbers are written without a fraction, as most clients expect.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}
