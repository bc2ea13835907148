//! A Python callable as the hub knows it, as a tool of the core, and what it means that it returned or raised something.

use crate::drivers::awaiting::is_coroutine;
use crate::drivers::served_call;
use crate::prelude::*;
use crate::runtime::interpreter::{self, ForkSafeOnce};
use crate::runtime::tool_loops::ServedLoops;
use crate::values::arguments::argument_checks::{PreparedArguments, ValueStyle};
use crate::values::arguments::given::{PlainParameter, is_scalar};
use crate::values::errors::exception_text;
use crate::values::results::result::CandidateTemplates;
use crate::values::value::{as_mapping, discard};
use std::any::Any;
use std::sync::OnceLock;
use toolhub::error::clip;
use toolhub::invisible::error_line;
use toolhub::model::{
    Arguments, BoundValue, CheckOptions, Fitting, Meaning, NothingMeans, ReportedFailure, ReturnedValue,
    ToolIdentity, ToolOutput, ToolSpec, Unchecked, meaning,
};
use toolhub::offers::NativeOffer;
use toolhub::registry::Candidate;
use toolhub::schema::ArgumentSchema;
use toolhub::stats::CandidateStats;
use toolhub::tool::{BoxFuture, CallContext, Tool};

/// What a callable is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallableKind {
    #[default]
    Tool,
    Resource,
    Prompt,
    Completion,
}

/// What `toolhub._signature` found out about a callable.
pub struct Callable {
    pub kind: CallableKind,
    pub spec: ToolSpec,
    pub identity: ToolIdentity,
    /// The name, made once for all results.
    pub name: Py<PyString>,
    pub is_async: bool,
    /// Calling it only makes a coroutine: nothing of it runs before the first step.
    pub begins_when_stepped: bool,
    pub nothing_means: NothingMeans,
    pub call: Py<PyAny>,
    /// For `call(value)`; `None` is `call(**arguments)`.
    pub value_style: Option<ValueStyle>,
    /// `None`: any value is accepted.
    pub schema: Option<ArgumentSchema>,
    /// Builds Python values from arguments that fit the schema. `None`: the callable takes them as they are, and they must be
    /// JSON.
    pub build: Option<Py<PyAny>>,
    /// The parameters that the fast path knows; `None` if a required one is not among them.
    pub plain: Option<Vec<PlainParameter>>,
    /// Parameters that the schema does not show; the builder judges them.
    pub hidden: Vec<String>,
    /// The argument that a bare value is for.
    pub single: Option<Py<PyString>>,
    /// What was registered, and the free-form notes that came with it.
    pub object: Py<PyAny>,
    pub meta: Option<Py<PyAny>>,
    /// The loops on which it runs when it is called from a driver on tokio.
    pub served_on: Arc<ServedLoops>,
    /// Those of its candidate, once that is registered.
    pub stats: OnceLock<Arc<CandidateStats>>,
    /// What is the same in all results of this candidate.
    pub templates: ForkSafeOnce<CandidateTemplates>,
}

impl Callable {
    /// Calls the callable in this thread.
    pub fn invoke<'py>(&self, py: Python<'py>, prepared: &PreparedArguments) -> PyResult<Bound<'py, PyAny>> {
        match prepared {
            PreparedArguments::Keywords(kwargs) => {
                interpreter::call_with_keywords(self.call.bind(py), kwargs.bind(py))
            }
            PreparedArguments::Value(value) => interpreter::call(self.call.bind(py), [value.bind(py)]),
            PreparedArguments::Native(args) => {
                interpreter::call(self.call.bind(py), [&json::to_python(py, args.as_value())?])
            }
        }
    }

    /// The error for an exception that it raised.
    pub fn raised(&self, py: Python<'_>, error: &PyErr) -> HubError {
        raised(py, self.kind, &self.spec.name, error)
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.call)?;
        visit.call(&self.build)?;
        visit.call(&self.object)?;
        visit.call(&self.meta)
    }
}

/// What a value that a tool returned means: the rule of the core, or a forgotten `await`. `nothing` says what None means for the tool.
pub fn meaning_of(value: &Bound<'_, PyAny>, nothing: impl FnOnce() -> NothingMeans) -> Meaning {
    let is_sequence = || value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>();
    if !value.is_none() && (is_scalar(value) || is_sequence()) {
        return Meaning::Value;
    }
    if is_coroutine(value) {
        discard(value);
        return Meaning::Failure(ReportedFailure::NotAwaited);
    }
    let nothing = if value.is_none() { nothing() } else { NothingMeans::Success };
    meaning(&Returned(value.clone()), nothing)
}

/// A value that a tool returned, as the core asks about it.
struct Returned<'py>(Bound<'py, PyAny>);

impl ReturnedValue for Returned<'_> {
    fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    fn is_falsy(&self) -> bool {
        // An object that has no truth is there, so it is not falsy.
        !self.0.is_truthy().unwrap_or(true)
    }

    fn entry(&self, key: &'static str) -> Option<Self> {
        let py = self.0.py();
        let key = match key {
            "success" => intern!(py, "success"),
            key => &PyString::new(py, key),
        };
        let found = match self.0.cast::<PyDict>() {
            Ok(dict) => dict.get_item(key).ok().flatten(),
            Err(_) => as_mapping(&self.0)?.get_item(key).ok(),
        };
        found.map(Returned)
    }

    fn shown(&self) -> Option<String> {
        self.0.str().ok().map(|text| text.to_string_lossy().into_owned())
    }
}

/// In characters: the text of an exception is cut to this length.
const MAX_TEXT: usize = 1_000;

/// The error for an exception that a tool raised, as one line. The text of a `ToolError` is for the reader of the result, so
/// it is the error as it is, with its kind and details.
pub fn raised(py: Python<'_>, kind: CallableKind, name: &str, error: &PyErr) -> HubError {
    let value = error.value(py);
    let text = error_line(&exception_text(py, error), MAX_TEXT);
    let own = if error.is_instance_of::<PyException>(py) { details_of(value) } else { None };
    if let (Some(own), false) = (&own, text.is_empty()) {
        return HubError { message: text.into(), ..own.clone() };
    }
    let (name, class) = (clip(name), class_of(value));
    let message = match (kind, text.as_str()) {
        (CallableKind::Tool, "") => message!("Tool '{}' raised {}.", name, class),
        (CallableKind::Tool, text) => message!("Tool '{}' raised {}: {}", name, class, text),
        (CallableKind::Resource, "") => message!("Resource '{}' raised {}.", name, class),
        (CallableKind::Resource, text) => message!("Resource '{}' raised {}: {}", name, class, text),
        (CallableKind::Prompt, "") => message!("Prompt '{}' raised {}.", name, class),
        (CallableKind::Prompt, text) => message!("Prompt '{}' raised {}: {}", name, class, text),
        (CallableKind::Completion, "") => message!("Completion '{}' raised {}.", name, class),
        (CallableKind::Completion, text) => message!("Completion '{}' raised {}: {}", name, class, text),
    };
    HubError { message, ..own.unwrap_or_else(|| HubError::new(ErrorKind::ToolError, "")) }
}

/// Kind and details of a `ToolError`; `None` for other exceptions.
pub fn details_of(value: &Bound<'_, PyBaseException>) -> Option<HubError> {
    static TOOL_ERROR: Imported = Imported::new("toolhub.exceptions", "ToolError");
    let py = value.py();
    if !value.is_instance(TOOL_ERROR.get(py).ok()?).ok()? {
        return None;
    }
    let name: String = value.getattr(intern!(py, "kind")).ok()?.extract().ok()?;
    let mut error = HubError::new(ErrorKind::named(&name)?, "");
    error.code = value.getattr(intern!(py, "code")).ok().and_then(|code| code.extract().ok());
    error.status = value.getattr(intern!(py, "status")).ok().and_then(|status| status.extract().ok());
    error.retry_after = value.getattr(intern!(py, "retry_after")).ok().and_then(|after| after.extract().ok());
    Some(error)
}

/// A tool of the core whose work is done in Python.
pub struct PythonTool(pub Arc<Callable>);

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn identity(&self) -> Option<&ToolIdentity> {
        Some(&self.0.identity)
    }

    fn bound(&self) -> Vec<BoundValue> {
        vec![BoundValue { name: None, parts: vec![self.0.identity.code.to_string()] }]
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        match &self.0.schema {
            // Rich types are built when the call starts, where the interpreter is.
            Some(schema) => schema.check(&self.0.spec.name, args, options),
            None => Ok(Fitting::unchanged()),
        }
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.0.schema.as_ref().map_or(&[], |schema| schema.unchecked())
    }

    /// The function begins when its event loop or a thread of the pool comes to it.
    fn marks_sent(&self) -> bool {
        true
    }

    /// Callers in Python have drivers of their own ([`crate::drivers::execution`]). A driver on tokio sends the call to the loop of the
    /// program that serves the hub; without one it gets an error at once.
    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        let Some(place) = self.0.served_on.current() else {
            let text = message!(
                "Tool '{}' lives in Python and can only be called from Python.",
                clip(&self.0.spec.name)
            );
            return Box::pin(std::future::ready(Err(HubError::new(ErrorKind::NotAllowed, text))));
        };
        Box::pin(served_call::call(place, self.0.clone(), args, ctx))
    }
}

/// The candidate's tool, when it is a Python one.
pub fn python_tool(candidate: &Candidate) -> Option<&Arc<Callable>> {
    let tool: Option<&PythonTool> = (&*candidate.tool as &dyn Any).downcast_ref();
    tool.map(|tool| &tool.0)
}

/// Shows the functions of a resource or a prompt to the garbage collector.
pub fn traverse_offer(offer: &NativeOffer, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    for function in offer.functions() {
        if let Some(tool) = (&**function as &dyn Any).downcast_ref::<PythonTool>() {
            tool.0.traverse(visit)?;
        }
    }
    Ok(())
}
