//! The entry points of a call from Python. Each is one crossing: it returns an awaitable. What a call sends is kept as JSON if
//! somebody has to recognise it.

use super::request::{self, PyMessageOrder};
use super::{CallDriver, LoopCall};
use crate::classes::hub::PyHub;
use crate::classes::options::{PyCallOptions, PyPatternList, as_text};
use crate::drivers::awaiting::new_awaitable;
use crate::drivers::execution::{Execution, Extras, content_of};
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::values::arguments::given::{is_dict_of, is_list_of, is_scalar};
use crate::values::errors::invalid_arguments;
use crate::values::json::NotJson;
use toolhub::hub::{AskedCall, PlannedRun};
use toolhub::identity::CallContent;
use toolhub::plan::{Approver, CallPlan, CallRequest, CallTarget, Permissions, SharingRequest};
use toolhub::principal::Principal;

/// `(progress, meta, watch, llm, passed_on, permissions)`: what Python hands over with a call in addition to its arguments and
/// options.
type CallHooks =
    (OptionalObject, OptionalObject, OptionalObject, OptionalObject, Option<Py<PyDict>>, OptionalObject);
type OptionalObject = Option<Py<PyAny>>;

/// A call as Python asks for it.
struct GivenCall<'a, 'py> {
    hub: &'a Bound<'py, PyHub>,
    args: Bound<'py, PyAny>,
    options: &'a PyCallOptions,
    /// Without a watch so far; `None` if there is nothing of it.
    extras: Option<Box<Extras>>,
    /// Called with name, arguments and id of the call; returns what reports about it.
    make_watch: OptionalObject,
    /// Makes one answer of several.
    llm: OptionalObject,
    /// A `toolhub.permissions.Permissions`.
    permissions: OptionalObject,
}

/// Calls a tool by name, or the tools with a capability; await what comes back.
#[pyfunction]
#[pyo3(signature = (hub, name, args, options, around=None, by_capability=false))]
pub fn execute<'py>(
    hub: &Bound<'py, PyHub>,
    name: &Bound<'py, PyAny>,
    args: Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Option<CallHooks>,
    by_capability: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut given = GivenCall::new(hub, args, options.get(), around)?;
    if by_capability {
        let capability = as_text("capability", name)?;
        let request = given.request(CallTarget::Capability(Arc::from(&*capability.to_string_lossy())));
        return given.planned(request, None);
    }
    // A string with a lone surrogate, as a model may produce one, is just not found.
    let name = as_text("name", name)?.to_string_lossy();
    let is_alone = given.make_watch.is_none() && given.permissions.is_none();
    let wanted = &given.options.options;
    let is_plain = is_alone && !given.options.may_share && wanted.run.is_none();
    let core = hub.get().core();
    if is_plain
        && !core.is_closed()
        && core.cassette().is_none()
        && let Some(Ok(planned)) = core.plan_known(&core.registry.load(), &name, wanted, Instant::now())
        && let Some(execution) = given.plain(&name, planned)?
    {
        return Ok(execution);
    }
    let request = given.request(CallTarget::Name(Arc::from(&*name)));
    given.planned(request, None)
}

/// Calls the tool that a model asked for; await what comes back.
#[pyfunction]
#[pyo3(signature = (hub, request, options, around=None, turn=None))]
pub fn dispatch<'py>(
    hub: &Bound<'py, PyHub>,
    request: &Bound<'py, PyAny>,
    options: &Bound<'py, PyCallOptions>,
    around: Option<CallHooks>,
    turn: Option<(Bound<'py, PyMessageOrder>, usize)>,
) -> PyResult<Bound<'py, PyAny>> {
    hub.get().check_process()?;
    let mut read = request::read(request)?;
    let args = read.restore(hub, options.get().checks.coerce)?;
    let name: Arc<str> = Arc::from(&*read.name.to_string_lossy());
    if let Some(place) = json::not_finite(&args) {
        let reason =
            format!("{place}: expected a number that a float can hold, got one that is too large or NaN.");
        read.error = Some(invalid_arguments(&name, reason).message);
    }
    // A call of a message may not have been meant; one that the caller asks for by itself is.
    let proposed_in = turn.as_ref().map(|_| request::proposed_in(request)).transpose()?.flatten();
    let turn = turn.map(|(order, place)| order.get().0.turn(place, name.clone()));
    let target = CallTarget::Routed { name, source: read.source.as_deref().map(Arc::from) };
    let id = read.id.filter(|id| !id.is_empty()).unwrap_or_else(|| hub.get().next_call_id());
    let given = GivenCall::new(hub, args, options.get(), around)?;
    let call = CallRequest { unreadable: read.error, proposed_in, turn, ..given.request(target) };
    given.planned(call, Some(id))
}

impl<'a, 'py> GivenCall<'a, 'py> {
    fn new(
        hub: &'a Bound<'py, PyHub>,
        args: Bound<'py, PyAny>,
        options: &'a PyCallOptions,
        around: Option<CallHooks>,
    ) -> PyResult<Self> {
        hub.get().check_process()?;
        let (progress, meta, make_watch, llm, passed_on, permissions) = around.unwrap_or_default();
        let sent = meta.as_ref().map(|meta| json::as_object("meta", meta.bind(hub.py()))).transpose()?;
        let sent = sent.unwrap_or_default();
        let principal = call_scope::principal(hub.py())?;
        let is_given = progress.is_some() || meta.is_some() || passed_on.is_some();
        let extras = (is_given || make_watch.is_some() || principal.is_some()).then(|| {
            Box::new(Extras {
                wants_progress: progress.is_some(),
                meta: sent,
                watch: None,
                passed_on,
                principal,
            })
        });
        Ok(GivenCall { hub, args, options, extras, make_watch, llm, permissions })
    }

    fn principal(&self) -> Option<&Arc<Principal>> {
        self.extras.as_ref()?.principal.as_ref()
    }

    fn passed_on(&self) -> Option<&Bound<'py, PyDict>> {
        Some(self.extras.as_ref()?.passed_on.as_ref()?.bind(self.hub.py()))
    }

    fn request(&self, target: CallTarget) -> CallRequest {
        CallRequest::new(target, self.options.options.clone())
    }

    /// A call that needs nothing but its run; `None` when there is more to it.
    fn plain(&mut self, name: &str, mut planned: Box<PlannedRun>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let core = self.hub.get().core();
        if self.llm.is_some() && planned.candidates.len() > 1 {
            return Ok(None);
        }
        if self.principal().is_some() && core.keeps_rows(&planned.candidates) {
            // The plan notes for whom the call is made.
            return Ok(None);
        }
        let asked = || AskedCall::new(CallTarget::Name(name.into()), self.options.options.clone(), None);
        core.record(&mut planned, None, asked);
        let (hub, args) = (self.hub.clone().unbind(), self.args.clone().unbind());
        let execution = Execution::new(hub, planned, (args, None), self.options.checks, self.extras.take());
        Ok(Some(new_awaitable(self.hub.py(), execution)?.into_any()))
    }

    /// A call with everything around its run. A routed call has an id.
    fn planned(mut self, mut request: CallRequest, call_id: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.hub.py();
        let is_readable = request.unreadable.is_none();
        let told = (&**request.target.name(), &self.args, call_id.as_deref(), is_readable);
        let watch = self.make_watch.as_ref().map(|make| make.call1(py, told)).transpose()?;
        if let (Some(extras), Some(watch)) = (&mut self.extras, &watch) {
            extras.watch = Some(watch.clone_ref(py));
        }
        // Calls inside a served call share results with those of its caller only.
        request.options.principal = self.principal().map(|principal| principal.id.clone());
        request.options.rights = self.principal().map(|principal| principal.rights.clone());
        request.permissions =
            self.permissions.as_ref().map(|one| python_permissions(one.bind(py))).transpose()?;
        request.content = self.content(request.permissions.as_ref());
        request.sharing = self.sharing().filter(|_| matches!(request.content, Some(Ok(_))));
        let plan = CallPlan::new(request, Instant::now());
        let call = LoopCall {
            hub: self.hub.clone().unbind(),
            args: self.args.unbind(),
            checks: self.options.checks,
            watch,
            llm: self.llm,
            permissions: self.permissions,
            call_id,
            extras: Mutex::new(self.extras),
            inner: Mutex::default(),
            passed: Mutex::default(),
        };
        Ok(new_awaitable(py, CallDriver::new(call, plan))?.into_any())
    }

    /// What is sent, if somebody has to recognise the call. The error says which part is not JSON.
    fn content(&self, permissions: Option<&Permissions>) -> Option<Result<CallContent, NotJson>> {
        let extras = self.extras.as_deref();
        let exactly = || content_of(&self.args, extras, json::from_arguments);
        if self.options.options.run.is_some() || permissions.is_some_and(Permissions::may_be_kept) {
            return Some(exactly());
        }
        // A cassette has a text for what is not JSON.
        if self.hub.get().core().cassette().is_some() {
            let told = || content_of(&self.args, extras, |value| Ok(json::with_texts(value)));
            return Some(exactly().or_else(|_| told()));
        }
        self.options.may_share.then(exactly)
    }

    /// `None` when sharing was not requested, or the arguments cannot be compared.
    fn sharing(&self) -> Option<SharingRequest> {
        let options = self.options;
        let is_plain = options.may_share
            && is_plain(&self.args, 0)
            && self.passed_on().is_none_or(|passed_on| is_plain(passed_on, 0));
        is_plain.then_some(SharingRequest {
            cache_ttl: options.cache_ttl,
            single_flight: options.single_flight,
            validate: options.checks.validate,
            coerce: options.checks.coerce,
        })
    }
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
    Ok(Permissions {
        allowed: patterns.cast::<PyPatternList>()?.get().inner.clone(),
        approvers,
        heeds_answers,
    })
}

/// Deeper values are not compared.
const MAX_DEPTH: usize = 100;

/// Whether a value is JSON as it stands. Only such a value shares a result: a tool can tell a tuple from a list, and an object
/// from what it is converted to.
fn is_plain(value: &Bound<'_, PyAny>, depth: usize) -> bool {
    let is_member = |member: &Bound<'_, PyAny>| is_plain(member, depth + 1);
    depth <= MAX_DEPTH && (is_scalar(value) || is_list_of(value, is_member) || is_dict_of(value, is_member))
}
