//! A Python callable: how it is described, as a tool of the core, and what it means that it returned or raised something.

use crate::classes::options::{GivenOptions, wrong};
use crate::drivers::awaiting::is_coroutine;
use crate::drivers::served_call;
use crate::prelude::*;
use crate::runtime::interpreter::{self, ForkSafeOnce};
use crate::runtime::tool_loops::ServedLoops;
use crate::values::arguments::argument_checks::{PreparedArguments, ValueStyle};
use crate::values::arguments::given::{PlainParameter, is_scalar, plain_parameters};
use crate::values::errors::exception_text;
use crate::values::json::as_json;
use crate::values::results::result::CandidateTemplates;
use crate::values::value::{as_mapping, discard};
use std::any::Any;
use std::sync::OnceLock;
use toolhub::error::{Result, clip};
use toolhub::hub::Hub;
use toolhub::invisible::error_line;
use toolhub::model::{
    Arguments, BoundValue, CheckOptions, Fitting, Meaning, NothingMeans, ReportedFailure, ReturnedValue,
    ToolIdentity, ToolOutput, ToolSpec, Trust, Unchecked, meaning, tags,
};
use toolhub::offers::NativeOffer;
use toolhub::registry::Candidate;
use toolhub::schema::ArgumentSchema;
use toolhub::select::effects::{self, Declaration, EffectsInput};
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

/// The tool, ready to be called, from the description that `toolhub._signature.build.describe` made and the options given at
/// registration.
pub fn callable(
    core: &Hub,
    served_on: Arc<ServedLoops>,
    described: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Callable> {
    let spec = spec(core, described, options)?;
    let object = options.get_item("object")?.unwrap_or_else(|| described.clone());
    let py = described.py();
    let plain: Option<Vec<Py<PyString>>> = described.getattr("plain")?.extract()?;
    let takes_value = described.getattr("style")?.extract::<&str>()? == "value";
    let nothing_fails: bool = described.getattr("nothing_fails")?.extract()?;
    let is_checked: bool = described.getattr("is_checked")?.extract()?;
    Ok(Callable {
        kind: CallableKind::Tool,
        name: PyString::intern(py, &spec.name).unbind(),
        is_async: described.getattr("is_async")?.extract()?,
        nothing_means: if nothing_fails { NothingMeans::Failure } else { NothingMeans::Success },
        begins_when_stepped: described.getattr("makes_coroutine")?.extract()?,
        call: described.getattr("call")?.unbind(),
        value_style: takes_value.then(|| value_style(described)).transpose()?,
        schema: is_checked.then(|| ArgumentSchema::new(spec.parameters.clone())),
        build: described.getattr("build")?.extract()?,
        plain: plain.and_then(|names| plain_parameters(py, &names, &spec)),
        hidden: described.getattr("hidden")?.extract()?,
        single: spec.single_argument().map(|name| PyString::new(py, name).unbind()),
        identity: identity(&object)?,
        object: object.unbind(),
        meta: options.get_item("meta")?.filter(|meta| !meta.is_none()).map(Bound::unbind),
        served_on,
        stats: OnceLock::new(),
        templates: ForkSafeOnce::new(),
        spec,
    })
}

/// What tells the object apart from others; `toolhub._signature.identity` reads it.
fn identity(object: &Bound<'_, PyAny>) -> PyResult<ToolIdentity> {
    static IDENTITY: Imported = Imported::new("toolhub._signature.identity", "identity_of");
    let (name, definition, parts, code): (Option<String>, usize, Vec<usize>, String) =
        IDENTITY.get(object.py())?.call1((object,))?.extract()?;
    let object = object.as_ptr() as usize;
    Ok(ToolIdentity { object, name: name.map(Arc::from), definition, parts, code: code.into() })
}

fn value_style(described: &Bound<'_, PyAny>) -> PyResult<ValueStyle> {
    Ok(ValueStyle {
        key: described.getattr("value_key")?.extract()?,
        property: described.getattr("value_property")?.extract()?,
        is_optional: described.getattr("value_optional")?.extract()?,
    })
}

/// The spec from the description and the options.
fn spec(core: &Hub, described: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<ToolSpec> {
    let name: String = described.getattr("name")?.extract()?;
    let description: String = described.getattr("description")?.extract()?;
    let parameters = as_json("parameters", &described.getattr("parameters")?)?;
    let given = GivenOptions(options);
    let object = |key: &str| given.get::<Bound<'_, PyAny>>(key, "an object");
    let flag = |key: &str| given.get::<bool>(key, "True or False");
    let text = |key: &str| Ok::<_, PyErr>(given.get::<String>(key, "text")?.map(Arc::<str>::from));
    let annotations =
        object("annotations")?.map(|value| json::as_object("annotations", &value)).transpose()?;
    let annotations = annotations.unwrap_or_default();
    let declared = object("capabilities")?.map(|given| declared_capabilities(&given)).transpose()?;
    let examples = |given: Bound<'_, PyAny>| {
        given.try_iter()?.map(|example| as_json("examples", &example?)).collect::<PyResult<Vec<_>>>()
    };
    let examples = object("examples")?.map(examples).transpose()?.unwrap_or_default();
    let acts = effects::declared(flag("effects")?, flag("read_only")?).map_err(PyValueError::new_err)?;
    let effects = effects::assess(&EffectsInput {
        name: &name,
        description: &description,
        parameters: &parameters,
        annotations: &annotations,
        declaration: Declaration::Tool { acts, capabilities: declared.as_deref().unwrap_or_default() },
    });
    let kinds = core.capability_rules().kinds(&name, declared.as_deref().unwrap_or_default());
    let capabilities = declared.unwrap_or_else(|| core.capability_rules().of_tool(&name, &description));
    let idempotent_hint = annotations.get("idempotentHint").and_then(Value::as_bool);
    Ok(ToolSpec {
        effects,
        trust: Trust::Full,
        idempotent: flag("idempotent")?.or(idempotent_hint).unwrap_or(false),
        description: Arc::from(description),
        parameters: Arc::new(parameters),
        capabilities: capabilities.into_iter().map(Arc::from).collect(),
        kinds: kinds.into_iter().map(Arc::from).collect(),
        annotations,
        examples,
        category: text("category")?,
        version: text("version")?,
        timeout: given.seconds("timeout")?,
        max_concurrency: given.get("max_concurrency", "a whole number")?,
        strategy: given.named("strategy")?,
        ..ToolSpec::named(name)
    })
}

fn declared_capabilities(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("capabilities must be a list of tags, got one string"));
    }
    let text = |tag: Bound<'_, PyAny>| {
        tag.extract::<String>().map_err(|_| wrong("capabilities", "a list of texts", &tag))
    };
    let given = given.try_iter().map_err(|_| wrong("capabilities", "a list of tags", given))?;
    Ok(tags(given.map(|tag| text(tag?)).collect::<PyResult<Vec<_>>>()?))
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

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
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
    fn call<'a>(&'a self, args: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
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
