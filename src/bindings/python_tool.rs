//! A Python callable as a tool.

use super::copying::{self, Refusal};
use super::imported::Imported;
use super::json;
use super::once::{Once, intern};
use super::templates::CandidateTemplates;
use crate::error::{ErrorKind, HubError, clip};
use crate::model::{Arguments, ToolOutput, ToolSpec};
use crate::schema::ArgumentSchema;
use crate::tool::{BoxFuture, CallContext, Tool};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyType};
use std::sync::Arc;

/// How the callable wants its arguments.
pub enum Style {
    /// `call(**arguments)`
    Keywords,
    /// `call(value)`; a mapping whose only key is this name is unwrapped first.
    Value { key: Option<Py<PyString>> },
}

/// A parameter that takes text, a number or a truth value, and says nothing more about it.
#[derive(FromPyObject)]
pub struct PlainParameter {
    #[pyo3(item(0))]
    name: Py<PyString>,
    #[pyo3(item(1))]
    kind: Py<PyType>,
    #[pyo3(item(2))]
    required: bool,
}

/// What the caller wants to have checked.
#[derive(Clone, Copy)]
pub struct Checks {
    pub validate: bool,
    pub coerce: bool,
}

/// Arguments that fit, in a copy of their own.
pub enum Prepared {
    Keywords(Py<PyDict>),
    Value(Py<PyAny>),
    /// For a tool that lives in Rust.
    Native(Box<Arguments>),
}

/// A tool of the core whose work is done in Python.
pub struct PythonTool(pub Arc<Callable>);

/// What `toolhub._signature` found out about a callable.
pub struct Callable {
    pub spec: ToolSpec,
    /// The name, made once for all results.
    pub name: Py<PyString>,
    pub is_async: bool,
    pub call: Py<PyAny>,
    pub style: Style,
    /// pydantic's validator: a mapping in, a new dict of fitting arguments out.
    pub validate: Option<Py<PyAny>>,
    pub validate_strict: Option<Py<PyAny>>,
    /// The parameters of plain types, when values of these very types need no validator.
    pub plain: Option<Vec<PlainParameter>>,
    /// The argument that a bare value is for.
    pub single: Option<Py<PyString>>,
    /// For a tool whose JSON Schema was given: the core checks it.
    pub schema: Option<ArgumentSchema>,
    /// The description that the validators belong to, for wording what was wrong.
    pub described: Py<PyAny>,
    /// What was registered, and the free-form notes that came with it.
    pub object: Py<PyAny>,
    pub meta: Option<Py<PyAny>>,
    /// What is the same in all results of this candidate.
    pub templates: Once<CandidateTemplates>,
}

impl Callable {
    /// Checks and copies the arguments. The inner error is for the caller's result, the outer one is a breakdown.
    pub fn prepare(&self, given: &Bound<'_, PyAny>, checks: Checks) -> Result<Prepared, HubError> {
        let args = copying::copy(given).map_err(|refusal| match refusal {
            Refusal::Endless => self.refusal("the arguments are nested too deeply, or cyclic"),
            Refusal::Broken(error) => self.refusal(&error.to_string()),
        })?;
        match &self.style {
            Style::Value { key } => self.prepare_value(args, key.as_ref(), checks),
            Style::Keywords => self.prepare_keywords(args, checks),
        }
    }

    fn prepare_keywords(&self, args: Bound<'_, PyAny>, checks: Checks) -> Result<Prepared, HubError> {
        let named = self.named(args)?;
        self.check_schema(&named, checks)?;
        let Some(validate) = self.validator(checks) else { return Ok(Prepared::Keywords(named.unbind())) };
        if self.plain.as_ref().is_some_and(|plain| fit_plainly(plain, &named)) {
            return Ok(Prepared::Keywords(named.unbind()));
        }
        let fitting = match validate.bind(named.py()).call1((&named,)) {
            Err(error) if checks.coerce => self.validated_without_nulls(validate, &named, error),
            validated => validated,
        };
        let fitting = fitting.map_err(|error| self.explained(named.py(), &error))?;
        fitting
            .cast_into()
            .map(|fitting| Prepared::Keywords(fitting.unbind()))
            .map_err(|error| self.refusal(&format!("its validator gave no mapping ({error})")))
    }

    /// A bare value as it is; a mapping whole, or unwrapped when its only key is the parameter's name.
    fn prepare_value(
        &self,
        args: Bound<'_, PyAny>,
        key: Option<&Py<PyString>>,
        checks: Checks,
    ) -> Result<Prepared, HubError> {
        let py = args.py();
        if args.is_none() && self.takes_nothing() {
            return Ok(Prepared::Keywords(PyDict::new(py).unbind()));
        }
        let args = if args.is_none() { PyDict::new(py).into_any() } else { args };
        if let Ok(named) = args.cast::<PyDict>() {
            self.check_schema(named, checks)?;
        }
        let wrapped = args.cast::<PyDict>().ok().filter(|dict| dict.len() == 1);
        let inner = wrapped.zip(key).and_then(|(dict, key)| dict.get_item(key).ok().flatten());
        let value = inner.unwrap_or(args);
        match self.validator(checks) {
            Some(validate) => self.validated(validate, &value).map(|value| Prepared::Value(value.unbind())),
            None => Ok(Prepared::Value(value.unbind())),
        }
    }

    /// Whether it can be called without any argument.
    fn takes_nothing(&self) -> bool {
        self.spec
            .parameters
            .get("required")
            .and_then(|required| required.as_array())
            .is_none_or(Vec::is_empty)
    }

    fn validator(&self, checks: Checks) -> Option<&Py<PyAny>> {
        let validator = if checks.coerce { &self.validate } else { &self.validate_strict };
        validator.as_ref().filter(|_| checks.validate)
    }

    /// Checks the arguments as JSON. Only those that had to be made to fit are replaced: the others stay the Python objects
    /// that they are.
    fn check_schema(&self, args: &Bound<'_, PyDict>, checks: Checks) -> Result<(), HubError> {
        let Some(schema) = self.schema.as_ref().filter(|_| checks.validate) else { return Ok(()) };
        let given = json::arguments(&self.spec.name, args)?;
        let Some(fitting) = schema.check(&self.spec.name, &given, checks.coerce)? else { return Ok(()) };
        for (name, _) in given.iter().filter(|(name, _)| fitting.get(name).is_none()) {
            args.del_item(name).map_err(|error| self.refusal(&error.to_string()))?;
        }
        let changed = fitting.iter().filter(|(name, value)| given.get(name) != Some(*value));
        for (name, value) in changed {
            json::to_python(args.py(), value)
                .and_then(|value| args.set_item(name, value))
                .map_err(|error| self.refusal(&error.to_string()))?;
        }
        Ok(())
    }

    /// The arguments by name: nothing, a mapping, or a bare value for the one argument it can be for.
    fn named<'py>(&self, args: Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>, HubError> {
        let py = args.py();
        let args = match args.cast_into::<PyDict>() {
            Ok(dict) => return Ok(dict),
            Err(other) => other.into_inner(),
        };
        if args.is_none() {
            return Ok(PyDict::new(py));
        }
        let named = PyDict::new(py);
        let filled = match (&self.single, args.cast::<PyMapping>()) {
            (_, Ok(mapping)) => named.update(mapping),
            (Some(single), _) => named.set_item(single, &args),
            (None, _) => {
                let given =
                    args.get_type().name().map_or_else(|_| "a bare value".into(), |name| name.to_string());
                return Err(self.refusal(&format!(
                    "expected named arguments ({}), got {given}",
                    self.parameter_names().join(", ")
                )));
            }
        };
        filled.map_err(|error| self.refusal(&error.to_string()))?;
        Ok(named)
    }

    fn parameter_names(&self) -> Vec<&str> {
        let properties = self.spec.parameters.get("properties").and_then(|p| p.as_object());
        properties.into_iter().flat_map(|map| map.keys().map(String::as_str)).collect()
    }

    fn validated<'py>(
        &self,
        validate: &Py<PyAny>,
        args: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, HubError> {
        let py = args.py();
        validate.bind(py).call1((args,)).map_err(|error| self.explained(py, &error))
    }

    /// Models write null for what they do not want to say.
    fn validated_without_nulls<'py>(
        &self,
        validate: &Py<PyAny>,
        args: &Bound<'py, PyDict>,
        error: PyErr,
    ) -> PyResult<Bound<'py, PyAny>> {
        static WITHOUT_NULLS: Imported = Imported::new("toolhub._arguments", "without_nulls");
        let py = args.py();
        let fewer = WITHOUT_NULLS.get(py)?.call1((error.value(py), args, &self.described))?;
        if fewer.is_none() { Err(error) } else { validate.bind(py).call1((fewer,)) }
    }

    /// The sentence for what a validator raised.
    fn explained(&self, py: Python<'_>, error: &PyErr) -> HubError {
        static EXPLAIN: Imported = Imported::new("toolhub._arguments", "explain");
        let summary = EXPLAIN
            .get(py)
            .and_then(|explain| explain.call1((&*clip(&self.spec.name), error.value(py), &self.described)))
            .and_then(|text| text.extract::<String>());
        match summary {
            Ok(sentence) => HubError::new(ErrorKind::InvalidArguments, sentence),
            Err(_) => self.refusal(&error.value(py).to_string()),
        }
    }

    fn refusal(&self, reason: &str) -> HubError {
        HubError::new(
            ErrorKind::InvalidArguments,
            format!("Invalid arguments for '{}': {reason}", clip(&self.spec.name)),
        )
    }

    /// Calls the callable in this thread.
    pub fn invoke<'py>(&self, py: Python<'py>, prepared: &Prepared) -> PyResult<Bound<'py, PyAny>> {
        match prepared {
            // SAFETY: all three are live objects; the call gives a new reference or an error.
            Prepared::Keywords(kwargs) => unsafe {
                let result =
                    ffi::PyObject_VectorcallDict(self.call.as_ptr(), std::ptr::null(), 0, kwargs.as_ptr());
                Bound::from_owned_ptr_or_err(py, result)
            },
            Prepared::Value(value) => self.call.bind(py).call1((value,)),
            Prepared::Native(args) => self.call.bind(py).call1((json::to_python(py, args.as_value())?,)),
        }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.call)?;
        visit.call(&self.validate)?;
        visit.call(&self.validate_strict)?;
        visit.call(&self.described)?;
        visit.call(&self.object)?;
        visit.call(&self.meta)
    }
}

/// Whether all arguments are of the very types that their parameters name. pydantic would give the same back, for more.
fn fit_plainly(plain: &[PlainParameter], named: &Bound<'_, PyDict>) -> bool {
    let py = named.py();
    let mut known = 0;
    for parameter in plain {
        match named.get_item(&parameter.name) {
            Ok(Some(value)) if value.get_type().is(parameter.kind.bind(py)) => known += 1,
            Ok(None) if !parameter.required => {}
            _ => return false,
        }
    }
    known == named.len()
}

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn check(&self, args: &Arguments, coerce: bool) -> Result<Option<Arguments>, HubError> {
        match &self.0.schema {
            Some(schema) => schema.check(&self.0.spec.name, args, coerce),
            // pydantic's turn comes with the call, where the interpreter is.
            None => Ok(None),
        }
    }

    /// A Python tool runs where its interpreter and event loop are: [`super::execution`] drives it there. The driver of the
    /// core has neither, so it is told so instead of being kept waiting.
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

/// The sentence for an exception that a tool raised.
pub fn raised(py: Python<'_>, tool: &str, error: &PyErr) -> HubError {
    let value = error.value(py);
    let kind = if error.is_instance_of::<PyException>(py) { kind_of(value) } else { None };
    let class = error.get_type(py).name().map_or_else(|_| "an exception".into(), |name| name.to_string());
    let text = value
        .str()
        .map_or_else(|_| "(its text cannot be read)".into(), |text| text.to_string_lossy().into_owned());
    let text: String = text.chars().take(1000).collect();
    let sentence = match text.trim() {
        "" => format!("Tool '{}' raised {class}.", clip(tool)),
        text => format!("Tool '{}' raised {class}: {text}", clip(tool)),
    };
    HubError::new(kind.unwrap_or(ErrorKind::ToolError), sentence)
}

/// A `ToolError` of ours carries its kind.
fn kind_of(value: &Bound<'_, pyo3::exceptions::PyBaseException>) -> Option<ErrorKind> {
    static TOOL_ERROR: Imported = Imported::new("toolhub.exceptions", "ToolError");
    let py = value.py();
    let class = TOOL_ERROR.get(py).ok()?;
    if !value.is_instance(class).ok()? {
        return None;
    }
    let name: String = value.getattr(intern!(py, "kind")).ok()?.extract().ok()?;
    ErrorKind::ALL.iter().copied().find(|kind| kind.name() == name)
}
