//! The entry points of a call from Python. Each is one crossing: it returns an awaitable. What a call sends is kept as JSON if
//! somebody has to recognise it.

use super::request::{self, PyMessageOrder};
use super::{CallDriver, LoopCall};
use crate::classes::hub::PyHub;
use crate::classes::options::{PyCallOptions, PyPatternList};
use crate::drivers::awaiting::new_awaitable;
use crate::drivers::execution::{Execution, Extras, Watch};
use crate::runtime::call_scope;
use crate::runtime::gil::Entries;
use crate::runtime::kept::intern;
use crate::values::errors::invalid_arguments;
use crate::values::json::{self, NotJson};
use crate::values::unicode::as_text;
use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use toolhub::hub::{AskedCall, PlannedRun};
use toolhub::identity::CallContent;
use toolhub::plan::{Approver, CallPlan, CallRequest, CallTarget, Permissions, SharingRequest};

/// What Python hands over with a call in addition to its arguments and options, as one tuple.
#[derive(Default)]
pub struct Surroundings {
    /// Called with each progress report of a tool on a server.
    progress: Option<Py<PyAny>>,
    /// Passed on to the server.
    meta: Option<Py<PyAny>>,
    /// Called with name, arguments and id of the call; returns what reports about it.
    watch: Option<Py<PyAny>>,
    /// Makes one answer of several.
    llm: Option<Py<PyAny>>,
    /// Values of the caller for the tools that have parameters of these names.
    passed_on: Option<Py<PyDict>>,
    /// A `toolhub.permissions.Permissions`.
    permissions: Option<Py<PyAny>>,
}

/// `(progress, meta, watch, llm, passed_on, permissions)`
type SurroundingsTuple = (
    Option<Py<PyAny>>,
    Option<Py<PyAny>>,
    Option<Py<PyAny>>,
    Option<Py<PyAny>>,
    Option<Py<PyDict>>,
    Option<Py<PyAny>>,
);

impl<'py> FromPyObject<'_, 'py> for Surroundings {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = <SurroundingsTuple as FromPyObject<'_, '_>>::INPUT_TYPE;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (progress, meta, watch, llm, passed_on, permissions) = given.extract::<SurroundingsTuple>()?;
        Ok(Surroundings { progress, meta, watch, llm, passed_on, permissions })
    }
}

impl Surroundings {
    fn extras(&self, py: Python<'_>, watch: Option<&Py<PyAny>>) -> PyResult<Option<Box<Extras>>> {
        let principal = call_scope::principal(py)?;
        let has_any = self.progress.is_some() || self.meta.is_some() || self.passed_on.is_some();
        if !has_any && watch.is_none() && principal.is_none() {
            return Ok(None);
        }
        let meta = self.meta.as_ref().map(|meta| json::as_json("meta", meta.bind(py)));
        let meta = match meta.transpose()? {
            None => serde_json::Map::new(),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(PyTypeError::new_err("meta must be a mapping")),
        };
        let progress = self.progress.as_ref().map(|progress| progress.clone_ref(py));
        let passed_on = self.passed_on.as_ref().map(|passed_on| passed_on.clone_ref(py));
        let watch = watch.map(|one| Watch::new(one.clone_ref(py)));
        Ok(Some(Box::new(Extras { progress, meta, watch, passed_on, principal })))
    }

    /// What is sent, if somebody has to recognise the call.
    fn content(
        &self,
        args: &Bound<'_, PyAny>,
        options: &PyCallOptions,
        permissions: Option<&Permissions>,
        is_on_tape: bool,
    ) -> Option<Result<CallContent, NotJson>> {
        let (meta, passed_on) = (self.meta.as_ref(), self.passed_on.as_ref());
        if options.options.run.is_some() || permissions.is_some_and(Permissions::may_be_kept) {
            return Some(content(args, meta, passed_on));
        }
        // A cassette has a text for what is not JSON.
        if is_on_tape {
            let content =
                content(args, meta, passed_on).unwrap_or_else(|_| with_texts(args, meta, passed_on));
            return Some(Ok(content));
        }
        options.may_share().then(|| content(args, meta, passed_on))
    }

    /// `None` when sharing was not requested, or the arguments cannot be compared.
    fn sharing(&self, args: &Bound<'_, PyAny>, options: &PyCallOptions) -> Option<SharingRequest> {
        let py = args.py();
        let is_plain_part = |part: Option<&Bound<'_, PyAny>>| part.is_none_or(is_plain);
        let is_plain = options.may_share()
            && is_plain(args)
            && is_plain_part(self.passed_on.as_ref().map(|one| one.bind(py).as_any()))
            && is_plain_part(self.meta.as_ref().map(|one| one.bind(py)));
        is_plain.then_some(SharingRequest {
            cache_ttl: options.cache_ttl,
            single_flight: options.single_flight,
            validate: options.checks.validate,
            coerce: options.checks.coerce,
        })
    }

    fn make_watch(
        &self,
        tool: &str,
        args: &Bound<'_, PyAny>,
        call_id: Option<&str>,
        is_readable: bool,
    ) -> PyResult<Option<Py<PyAny>>> {
        self.watch.as_ref().map(|make| make.call1(args.py(), (tool, args, call_id, is_readable))).transpose()
    }
}

/// Calls a tool by name; await what comes back.
#[pyfunction]
#[pyo3(signature = (hub, name, args, options, around=None))]
pub fn execute<'py>(
    hub: &Bound<'py, PyHub>,
    name: &Bound<'py, PyAny>,
    args: Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Option<Surroundings>,
) -> PyResult<Bound<'py, PyAny>> {
    hub.get().check_process()?;
    let around = around.unwrap_or_default();
    // A string with a lone surrogate, as a model may produce one, is just not found.
    let name = as_text("name", name)?.to_string_lossy();
    let is_alone = around.watch.is_none() && around.permissions.is_none();
    let wanted = &options.get().options;
    let is_plain = is_alone && !options.get().may_share() && wanted.run.is_none();
    let core = hub.get().core();
    if is_plain
        && !core.is_closed()
        && core.tape().is_none()
        && let Some(Ok(planned)) = core.plan_known(&core.registry.load(), &name, wanted, Instant::now())
        && let Some(execution) = plain(hub, &name, planned, &args, options, &around)?
    {
        return Ok(execution);
    }
    let target = CallTarget::Name(Arc::from(&*name));
    planned_call(hub, CallRequest::new(target, options.get().options.clone()), args, options, around, None)
}

/// Calls the tools with a capability; await what comes back.
#[pyfunction]
#[pyo3(signature = (hub, capability, args, options, around=None))]
pub fn execute_by_capability<'py>(
    hub: &Bound<'py, PyHub>,
    capability: &Bound<'py, PyAny>,
    args: Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Option<Surroundings>,
) -> PyResult<Bound<'py, PyAny>> {
    hub.get().check_process()?;
    let around = around.unwrap_or_default();
    let capability = as_text("capability", capability)?;
    let target = CallTarget::Capability(Arc::from(&*capability.to_string_lossy()));
    planned_call(hub, CallRequest::new(target, options.get().options.clone()), args, options, around, None)
}

/// Calls the tool that a model asked for; await what comes back.
#[pyfunction]
#[pyo3(signature = (hub, request, options, around=None, turn=None))]
pub fn dispatch<'py>(
    hub: &Bound<'py, PyHub>,
    request: &Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Option<Surroundings>,
    turn: Option<(Bound<'py, PyMessageOrder>, usize)>,
) -> PyResult<Bound<'py, PyAny>> {
    hub.get().check_process()?;
    let around = around.unwrap_or_default();
    let mut read = request::read(request)?;
    let args = match &read.error {
        None => read.restore(hub, options.get().checks.coerce)?,
        Some(_) => PyDict::new(hub.py()).into_any(),
    };
    let name: Arc<str> = Arc::from(&*read.name.to_string_lossy());
    if let Some(place) = json::not_finite(&args) {
        let reason =
            format!("{place}: expected a number that a float can hold, got one that is too large or NaN.");
        read.error = Some(invalid_arguments(&name, reason).message);
    }
    // A call of a message may not have been meant; one that the caller asks for by itself is.
    let proposed_in = turn.as_ref().map(|_| request::proposed_in(request)).transpose()?.flatten();
    let turn = turn.map(|(order, place)| order.get().turn(place, name.clone()));
    let target = CallTarget::Routed { name, source: read.source.as_deref().map(Arc::from) };
    let id = read.id.filter(|id| !id.is_empty()).unwrap_or_else(|| hub.get().next_call_id());
    let call = CallRequest {
        unreadable: read.error,
        proposed_in,
        turn,
        ..CallRequest::new(target, options.get().options.clone())
    };
    planned_call(hub, call, args, options, around, Some(id))
}

/// A call that needs nothing but its run; `None` when there is more to it.
fn plain<'py>(
    hub: &Bound<'py, PyHub>,
    name: &str,
    mut planned: Box<PlannedRun>,
    args: &Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: &Surroundings,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, core) = (hub.py(), hub.get().core());
    if around.llm.is_some() && planned.candidates.len() > 1 {
        return Ok(None);
    }
    let (checks, extras) = (options.get().checks, around.extras(py, None)?);
    let is_served = extras.as_ref().is_some_and(|extras| extras.principal.is_some());
    if is_served && core.keeps_rows(&planned.candidates) {
        // The plan notes for whom the call is made.
        return Ok(None);
    }
    let asked = || AskedCall::new(CallTarget::Name(name.into()), options.get().options.clone(), None);
    core.record(&mut planned, None, asked);
    let execution = Execution::new(hub.clone().unbind(), planned, args.clone().unbind(), checks, extras);
    Ok(Some(new_awaitable(py, execution)?.into_any()))
}

/// A call with everything around its run. A routed call has an id.
fn planned_call<'py>(
    hub: &Bound<'py, PyHub>,
    request: CallRequest,
    args: Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Surroundings,
    call_id: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = hub.py();
    let is_readable = request.unreadable.is_none();
    let watch = around.make_watch(request.target.name(), &args, call_id.as_deref(), is_readable)?;
    let extras = around.extras(py, watch.as_ref())?;
    let mut request = request;
    // Calls inside a served call share results with those of its caller only.
    let principal = extras.as_ref().and_then(|extras| extras.principal.as_ref());
    request.options.principal = principal.map(|principal| principal.id.clone());
    request.options.rights = principal.map(|principal| principal.rights.clone());
    let is_on_tape = hub.get().core().tape().is_some();
    let allowed = around.permissions.as_ref().map(|one| python_permissions(one.bind(py))).transpose()?;
    let content = around.content(&args, options.get(), allowed.as_ref(), is_on_tape);
    let request = CallRequest {
        sharing: around.sharing(&args, options.get()).filter(|_| matches!(content, Some(Ok(_)))),
        content,
        permissions: allowed,
        ..request
    };
    let plan = CallPlan::new(request, Instant::now());
    let call = LoopCall {
        hub: hub.clone().unbind(),
        args: args.unbind(),
        checks: options.get().checks,
        watch,
        llm: around.llm,
        permissions: around.permissions,
        call_id,
        extras: Mutex::new(extras),
        is_route_reported: AtomicBool::new(false),
        handover: Mutex::default(),
    };
    Ok(new_awaitable(py, CallDriver::new(call, plan))?.into_any())
}

/// What the core needs of a `toolhub.permissions.Permissions`.
fn python_permissions(permissions: &Bound<'_, PyAny>) -> PyResult<Permissions> {
    let py = permissions.py();
    let patterns = permissions.getattr(intern!(py, "patterns"))?;
    // The number of a function, or None for a person who is asked through the store.
    let approvers: Vec<Vec<Option<usize>>> = permissions.getattr(intern!(py, "approvers"))?.extract()?;
    let approver = |one: Option<usize>| one.map_or(Approver::Ask, Approver::Function);
    let approvers = approvers.into_iter().map(|list| list.into_iter().map(approver).collect()).collect();
    let heeds_answers = permissions.getattr(intern!(py, "heeds_answers"))?.extract()?;
    Ok(Permissions { allowed: patterns.cast::<PyPatternList>()?.get().shared(), approvers, heeds_answers })
}

/// Deeper values are not compared.
const MAX_DEPTH: usize = 100;

/// The error says which part is not JSON.
pub fn content(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
) -> Result<CallContent, NotJson> {
    converted(args, meta, passed_on, json::from_arguments)
}

/// The same, with a text for each part that is not JSON.
pub fn with_texts(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
) -> CallContent {
    let converted = converted(args, meta, passed_on, |value| Ok(json::with_texts(value)));
    converted.unwrap_or_default()
}

fn converted(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
    convert: impl Fn(&Bound<'_, PyAny>) -> Result<Value, NotJson>,
) -> Result<CallContent, NotJson> {
    let py = args.py();
    let passed_on = passed_on.map(|given| convert(given.bind(py))).transpose()?.unwrap_or_default();
    let meta = match meta.map(|meta| convert(meta.bind(py))).transpose()? {
        Some(Value::Object(meta)) => meta,
        _ => serde_json::Map::new(),
    };
    Ok(CallContent { arguments: convert(args)?, meta, passed_on })
}

/// Whether a value is JSON as it stands. Only such a value shares a result: a tool can tell a tuple from a list, and an object
/// from what it is converted to.
pub fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    check_plain(value, 0).is_some()
}

fn check_plain(value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let is_leaf = value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>();
    if is_leaf {
        return Some(());
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return items.iter().try_for_each(|item| check_plain(&item, depth + 1));
    }
    for entry in Entries::of(value.cast_exact::<PyDict>().ok()?) {
        let (key, member) = entry.ok()?;
        key.cast_exact::<PyString>().ok()?;
        check_plain(&member, depth + 1)?;
    }
    Some(())
}
