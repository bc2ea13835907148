//! Resources and prompts of servers, on their way to Python.

use super::call_scope;
use super::errors::tool_error;
use super::json;
use super::localized::localized;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use toolhub::catalog::offers::OfferedBy;
use toolhub::error::HubError;
use toolhub::model::Lang;
use toolhub::offers::{OfferQuery, PartialArgument};
use toolhub::sources::mcp::offers::OfferKind;
use toolhub::tool::CallContextExtras;

/// For one request, when the caller names no limit.
pub const OFFER_TIMEOUT: Duration = Duration::from_secs(30);

pub fn offer_kind(name: &str) -> PyResult<OfferKind> {
    OfferKind::parse(name).ok_or_else(|| PyValueError::new_err(format!("servers offer no '{name}'")))
}

/// Requests inside a served call are made for its caller.
pub fn extras(py: Python<'_>) -> PyResult<CallContextExtras> {
    Ok(CallContextExtras { principal: call_scope::principal(py)?, ..CallContextExtras::default() })
}

/// A question about an offer of the hub or of a server.
#[pyclass(frozen, module = "toolhub._core", name = "OfferQuery")]
pub struct PyOfferQuery(pub OfferQuery);

#[pymethods]
impl PyOfferQuery {
    /// `resources/read`
    #[staticmethod]
    fn read(uri: String) -> Self {
        PyOfferQuery(OfferQuery::Read { uri })
    }

    /// `prompts/get`
    #[staticmethod]
    fn get(name: String, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(PyOfferQuery(OfferQuery::Get { name, arguments: arguments(given)? }))
    }

    /// `completion/complete`
    #[staticmethod]
    fn complete(
        kind: &str,
        key: String,
        argument: String,
        value: String,
        context: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let argument = PartialArgument { name: argument, value, context: arguments(context)? };
        Ok(PyOfferQuery(OfferQuery::Complete { of: offer_kind(kind)?, key, argument }))
    }
}

/// Arguments of a prompt; which values they may have is decided in the core.
fn arguments(given: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
    match json::from_python(given) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(PyValueError::new_err("the arguments must be a mapping of texts")),
        Err(reason) => Err(PyValueError::new_err(format!("the arguments must be texts: {reason}"))),
    }
}

/// `(entries, failed)`: each entry is `(server, what it listed)`, and the failures are exceptions.
pub struct OfferLists {
    pub lang: Lang,
    pub lists: Vec<OfferedBy>,
}

impl<'py> IntoPyObject<'py> for OfferLists {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (entries, failed) = (PyList::empty(py), PyDict::new(py));
        for (id, listed) in self.lists {
            match listed {
                Ok(offers) => {
                    for offer in &offers {
                        entries.append((&*id, json::to_python(py, offer)?))?;
                    }
                }
                Err(error) => {
                    failed.set_item(&*id, tool_error(py, &localized(error, self.lang)).into_value(py))?;
                }
            }
        }
        (entries, failed).into_pyobject(py)
    }
}

/// `(server, answer)`.
pub struct OfferAnswer {
    pub server: Arc<str>,
    pub answer: Value,
}

impl OfferAnswer {
    pub fn new((server, answer): (Arc<str>, Map<String, Value>)) -> Result<Self, HubError> {
        Ok(OfferAnswer { server, answer: Value::Object(answer) })
    }
}

impl<'py> IntoPyObject<'py> for OfferAnswer {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (&*self.server, json::to_python(py, &self.answer)?).into_pyobject(py)
    }
}
