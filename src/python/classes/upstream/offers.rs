//! Resources and prompts, of servers and of the hub itself, on their way to Python.

use crate::classes::hub::PyHub;
use crate::classes::options::seconds;
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::tool_loops::{ServedLoop, for_caller};
use crate::runtime::{call_scope, loop_bridge};
use crate::values::arguments::callable::{CallableKind, PythonTool, callable};
use crate::values::errors::{ErrorValue, value_error};
use crate::values::json::JsonValue;
use std::collections::BTreeMap;
use toolhub::catalog::resources::OfferedBy;
use toolhub::model::{Lang, OfferKind};
use toolhub::offers::{NativeOffer, OfferCallContext, OfferQuery, PartialArgument, Suggestions};
use toolhub::pattern::NATIVE;
use toolhub::tool::{CallContextExtras, Tool};

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
        Ok(PyOfferQuery(OfferQuery::Get { name, arguments: json::as_object("the arguments", given)? }))
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
        let context = json::as_object("the context", context)?;
        let argument = PartialArgument { name: argument, value, context };
        Ok(PyOfferQuery(OfferQuery::Complete { of: offer_kind(kind)?, key, argument }))
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

/// Adds a resource, a template or a prompt. `described` is the function, `entry` what lists show, and `completions` has for
/// each argument a list of texts, or a described function and the function itself.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each option of an offer")]
pub fn add_offer(
    hub: &Bound<'_, PyHub>,
    kind: &str,
    key: String,
    described: &Bound<'_, PyAny>,
    object: &Bound<'_, PyAny>,
    entry: &Bound<'_, PyAny>,
    completions: Vec<(String, Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    replace: bool,
) -> PyResult<()> {
    hub.get().check_process()?;
    let kind = offer_kind(kind)?;
    let entry = json::as_object("the options", entry)?;
    let noun = if kind == OfferKind::Prompts { CallableKind::Prompt } else { CallableKind::Resource };
    let function = function(hub, noun, described, object)?;
    let suggestions = |given: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>| match given.extract() {
        Ok(values) => Ok(Suggestions::Values(values)),
        Err(_) => self::function(hub, CallableKind::Completion, given, object).map(Suggestions::Function),
    };
    let completions = completions
        .into_iter()
        .map(|(name, given, object)| Ok((name, suggestions(&given, &object)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let offer = NativeOffer::new(kind, key, entry, function, completions);
    let added = offer.and_then(|offer| hub.get().core().own_offers.add(offer, replace));
    added.map_err(|error| value_error(error.in_language(lang(hub))))
}

fn function(
    hub: &Bound<'_, PyHub>,
    kind: CallableKind,
    described: &Bound<'_, PyAny>,
    object: &Bound<'_, PyAny>,
) -> PyResult<Arc<dyn Tool>> {
    let options = PyDict::new(hub.py());
    options.set_item("object", object)?;
    let mut made = callable(hub.get().core(), hub.get().served_on.clone(), described, &options)?;
    made.kind = kind;
    Ok(Arc::new(PythonTool(Arc::new(made))))
}

fn lang(hub: &Bound<'_, PyHub>) -> Lang {
    hub.get().core().options.lang
}

/// Removes a resource, a template or a prompt; false if the hub has none of this key.
#[pyfunction]
pub fn remove_offer(hub: &Bound<'_, PyHub>, kind: &str, key: &str) -> PyResult<bool> {
    Ok(hub.get().checked_core()?.own_offers.remove(offer_kind(kind)?, key))
}

/// Announces that the content of a resource has changed.
#[pyfunction]
pub fn resource_updated(hub: &Bound<'_, PyHub>, uri: &str) -> PyResult<()> {
    let updated = hub.get().checked_core()?.own_offers.updated(uri);
    updated.map_err(|error| tool_error(hub.py(), &error.in_language(lang(hub))))
}

/// What the hub itself offers of a kind, as `(server, entry)`.
#[pyfunction]
#[pyo3(signature = (hub, kind) -> "list[tuple[str, dict[str, Any]]]")]
pub fn own_offers(hub: &Bound<'_, PyHub>, kind: &str) -> PyResult<Vec<(&'static str, JsonValue)>> {
    let entries = hub.get().core().own_offers.entries(offer_kind(kind)?);
    Ok(entries.into_iter().map(|entry| (NATIVE, JsonValue(entry))).collect())
}

/// Awaits `(server, answer)` of the hub itself; None if it has no such offer, unless it `is_named`. The function runs on the
/// running loop, or in the thread pool.
#[pyfunction]
pub fn ask_own<'py>(
    hub: &Bound<'py, PyHub>,
    query: &Bound<'py, PyOfferQuery>,
    timeout: Option<f64>,
    is_named: bool,
) -> PyResult<Option<Bound<'py, BridgeFuture>>> {
    let py = hub.py();
    hub.get().check_process()?;
    let (core, lang, query) = (hub.get().core.clone(), lang(hub), query.get().0.clone());
    if !is_named && core.own_offers.find(query.kinds(), query.key()).is_none() {
        return Ok(None);
    }
    let limit: Duration = seconds("timeout", timeout)?.unwrap_or(core.options.timeout);
    let place = ServedLoop::new(&loop_bridge::current(py)?)?;
    bridge::run(
        py,
        for_caller(place, async move {
            let (own, extras) = (&core.own_offers, CallContextExtras::default());
            let ctx = OfferCallContext { limit, extras: &extras };
            let answer = own.answer(&query, &ctx).await;
            let answer = answer.map_err(|error| error.in_language(lang))?;
            Ok((NATIVE, JsonValue(Value::Object(answer))))
        }),
    )
    .map(Some)
}
