//! Resources and prompts of servers, on their way to Python.

use crate::runtime::call_scope;
use crate::values::errors::ErrorValue;
use crate::values::json::{self, JsonValue};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use toolhub::catalog::resources::OfferedBy;
use toolhub::model::Lang;
use toolhub::offers::{OfferQuery, PartialArgument};
use toolhub::sources::mcp::resources::OfferKind;
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
pub fn listed(lists: Vec<OfferedBy>, lang: Lang) -> (Vec<(String, JsonValue)>, BTreeMap<String, ErrorValue>) {
    let (mut entries, mut failed) = (Vec::new(), BTreeMap::new());
    for (id, listed) in lists {
        match listed {
            Ok(offers) => entries.extend(offers.into_iter().map(|offer| (id.to_string(), JsonValue(offer)))),
            Err(error) => {
                failed.insert(id.to_string(), ErrorValue(error.in_language(lang)));
            }
        }
    }
    (entries, failed)
}
