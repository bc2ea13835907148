//! A Python callable as a tool.

use super::argument_checks::{ArgumentChecks, PreparedArguments};
use super::errors::exception_text;
use super::imported::Imported;
use super::json;
use super::once::{ForkSafeOnce, intern};
use super::templates::CandidateTemplates;
use super::user_code;
use crate::error::{ErrorKind, HubError, clip};
use crate::invisible::error_line;
use crate::model::{
    Arguments, CheckOptions, Fitting, NothingMeans, ToolIdentity, ToolOutput, ToolSpec, Unchecked,
};
use crate::registry::Candidate;
use crate::tool::{BoxFuture, CallContext, Tool};
use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::any::Any;
use std::sync::Arc;

/// A tool of the core whose work is done in Python.
pub struct PythonTool(pub Arc<Callable>);

/// What `toolhub._signature` found out about a callable.
pub struct Callable {
    pub spec: ToolSpec,
    pub identity: ToolIdentity,
    /// The name, made once for all results.
    pub name: Py<PyString>,
    pub is_async: bool,
    pub nothing_means: NothingMeans,
    pub call: Py<PyAny>,
    pub arguments: ArgumentChecks,
    /// Whether arguments that the schema does not list are passed on with a warning.
    pub warns_of_unknown: bool,
    /// What was registered, and the free-form notes that came with it.
    pub object: Py<PyAny>,
    pub meta: Option<Py<PyAny>>,
    /// What is the same in all results of this candidate.
    pub templates: ForkSafeOnce<CandidateTemplates>,
}

impl Callable {
    /// Calls the callable in this thread.
    pub fn invoke<'py>(&self, py: Python<'py>, prepared: &PreparedArguments) -> PyResult<Bound<'py, PyAny>> {
        match prepared {
            PreparedArguments::Keywords(kwargs) => {
                user_code::call_with_keywords(self.call.bind(py), kwargs.bind(py))
            }
            PreparedArguments::Value(value) => user_code::call(self.call.bind(py), [value.bind(py)]),
            PreparedArguments::Native(args) => {
                user_code::call(self.call.bind(py), [&json::to_python(py, args.as_value())?])
            }
        }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.call)?;
        visit.call(&self.arguments.build)?;
        visit.call(&self.object)?;
        visit.call(&self.meta)
    }
}

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn identity(&self) -> Option<&ToolIdentity> {
        Some(&self.0.identity)
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        match &self.0.arguments.schema {
            // Rich types are built when the call starts, where the interpreter is.
            Some(schema) => schema.check(&self.0.spec.name, args, options),
            None => Ok(Fitting::unchanged()),
        }
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.0.arguments.schema.as_ref().map_or(&[], |schema| schema.unchecked())
    }

    /// A Python tool runs where its interpreter and event loop are: [`super::execution`] drives it there. The driver of the
    /// core has neither, so it gets an error at once.
    fn call<'a>(
        &'a self,
        _: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        let text =
            format!("Tool '{}' lives in Python and can only be called from Python.", clip(&self.0.spec.name));
        Box::pin(std::future::ready(Err(HubError::new(ErrorKind::NotAllowed, text))))
    }
}

/// In characters: the text of an exception is cut to this length.
const MAX_TEXT: usize = 1_000;

/// The error for an exception that a tool raised, as one line. The text of a `ToolError` is for the reader of the result, so
/// it is the error as it is, with its kind and details.
pub fn raised(py: Python<'_>, tool: &str, error: &PyErr) -> HubError {
    let value = error.value(py);
    let text = error_line(&exception_text(py, error), MAX_TEXT);
    let own = if error.is_instance_of::<PyException>(py) { tool_error(value) } else { None };
    if let (Some(own), false) = (&own, text.is_empty()) {
        return HubError { message: text.into(), ..own.clone() };
    }
    let class = error.get_type(py).name().map_or_else(|_| "an exception".into(), |name| name.to_string());
    let sentence = match text.as_str() {
        "" => format!("Tool '{}' raised {class}.", clip(tool)),
        text => format!("Tool '{}' raised {class}: {text}", clip(tool)),
    };
    HubError { message: sentence.into(), ..own.unwrap_or_else(|| HubError::new(ErrorKind::ToolError, "")) }
}

/// Kind and details of a `ToolError`; `None` for other exceptions.
fn tool_error(value: &Bound<'_, pyo3::exceptions::PyBaseException>) -> Option<HubError> {
    static TOOL_ERROR: Imported = Imported::new("toolhub.exceptions", "ToolError");
    let py = value.py();
    if !value.is_instance(TOOL_ERROR.get(py).ok()?).ok()? {
        return None;
    }
    let name: String = value.getattr(intern!(py, "kind")).ok()?.extract().ok()?;
    let kind = ErrorKind::ALL.iter().copied().find(|kind| kind.name() == name)?;
    let mut error = HubError::new(kind, "");
    error.code = value.getattr(intern!(py, "code")).ok().and_then(|code| code.extract().ok());
    error.status = value.getattr(intern!(py, "status")).ok().and_then(|status| status.extract().ok());
    error.retry_after = value.getattr(intern!(py, "retry_after")).ok().and_then(|after| after.extract().ok());
    // The tool's own word about itself counts. An error of a call inside the tool speaks about that call alone.
    let is_of_inner_call = value.getattr(intern!(py, "result")).is_ok_and(|result| !result.is_none());
    Some(if is_of_inner_call { error.of_inner_call() } else { error })
}

/// The candidate's tool, when it is a Python one.
pub fn python_tool(candidate: &Candidate) -> Option<&Arc<Callable>> {
    let tool: Option<&PythonTool> = (&*candidate.tool as &dyn Any).downcast_ref();
    tool.map(|tool| &tool.0)
}
