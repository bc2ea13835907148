//! From the arguments of a call to what a Python callable is called with.
//!
//! ```text
//! copy → by name → fast path (given.rs), or: schema of the core checks and coerces → pydantic builds rich types
//! ```
//!
//! The schema is the only judge of what JSON can express, so a Python function and an MCP tool with the same schema accept,
//! refuse and coerce the same values. pydantic sees only values that fit. It makes models, dates and enums of them, runs
//! validators, and judges Python objects that have no JSON form.

use crate::prelude::*;
use crate::runtime::interpreter;
use crate::values::arguments::callable::Callable;
use crate::values::arguments::given;
use crate::values::errors::{exception_text, invalid_arguments, objections};
use crate::values::json::{LargeJson, pointer_step};
use pyo3::types::IntoPyDict;
use serde_json::Map;
use std::borrow::Cow;
use toolhub::error::Result;
use toolhub::message::Message;
use toolhub::model::{Arguments, CheckOptions, Fitting, ToolSpec, Unchecked};
use toolhub::schema::{ArgumentSchema, Opaque};

/// How a callable takes one value.
pub struct ValueStyle {
    /// A mapping whose only key is this name is unwrapped first.
    pub key: Option<Py<PyString>>,
    /// The property under which the schema describes the value; `None`: the schema describes the value itself.
    pub property: Option<String>,
    /// `call()` works too.
    pub is_optional: bool,
}

impl ValueStyle {
    /// A mapping that holds nothing but the value, the name of the parameter, and the value.
    fn wrapped<'a, 'py>(
        &'a self,
        args: &'a Bound<'py, PyAny>,
    ) -> Option<(&'a Bound<'py, PyDict>, &'a Py<PyString>, Bound<'py, PyAny>)> {
        let dict = args.cast::<PyDict>().ok().filter(|dict| dict.len() == 1)?;
        let key = self.key.as_ref()?;
        Some((dict, key, dict.get_item(key).ok().flatten()?))
    }
}

/// What the caller wants checked.
#[derive(Clone, Copy)]
pub struct Checks {
    pub validate: bool,
    pub coerce: bool,
    /// None is a value for a tool that is called with one, as in older hubs, and does not mean that there are no arguments.
    pub none_is_input: bool,
}

/// One check of arguments for one candidate.
pub struct CheckPass {
    pub checks: Checks,
    /// Values of the caller for the tools that have parameters of these names.
    pub passed_on: Option<Py<PyDict>>,
    /// Rules of the schema that were not checked.
    pub unchecked: Vec<Unchecked>,
}

impl CheckPass {
    pub fn new(checks: Checks) -> Self {
        CheckPass { checks, passed_on: None, unchecked: Vec::new() }
    }

    /// Runs a check of the core. One that takes more than about a millisecond runs without the GIL.
    pub fn run<T>(
        &mut self,
        py: Python<'_>,
        check: impl FnOnce(&CheckOptions<'_>) -> Result<Fitting<T>>,
    ) -> Result<Option<T>> {
        let options = CheckOptions { coerce: self.checks.coerce, offload: &|work| py.detach(work) };
        let Fitting { replacement, unchecked } = check(&options)?;
        self.unchecked.extend(unchecked);
        Ok(replacement)
    }
}

/// Arguments that fit, in a copy that belongs to one attempt.
pub enum PreparedArguments {
    Keywords(Py<PyDict>),
    Value(Py<PyAny>),
    /// For a tool that lives in Rust.
    Native(Box<Arguments>),
}

impl PreparedArguments {
    /// For a function that runs on a thread: the value that it takes, if it takes one, and its keywords.
    pub fn for_thread(self, py: Python<'_>) -> PyResult<(Option<Bound<'_, PyAny>>, Py<PyAny>)> {
        match self {
            PreparedArguments::Keywords(kwargs) => Ok((None, kwargs.into_any())),
            PreparedArguments::Value(value) => {
                Ok((Some(value.into_bound(py)), PyDict::new(py).into_any().unbind()))
            }
            PreparedArguments::Native(_) => {
                Err(PyRuntimeError::new_err("a Python tool was given native arguments"))
            }
        }
    }
}

/// Arguments as JSON, with the places of objects that have no JSON form.
struct Image<'a> {
    schema: &'a ArgumentSchema,
    value: LargeJson,
    opaque: Vec<Opaque>,
    /// The name under which the schema describes the value.
    property: Option<&'a str>,
}

impl Callable {
    /// Copies, checks and builds the arguments.
    pub fn prepare(&self, given: &Bound<'_, PyAny>, pass: &mut CheckPass) -> Result<PreparedArguments> {
        let args = self.copied(given)?;
        match &self.value_style {
            None => self.prepare_keywords(args, pass),
            Some(style) if !args.is_none() => self.prepare_value(args, style, pass),
            Some(style) if !style.is_optional => self.prepare_nothing(args, style, pass),
            Some(_) => Ok(PreparedArguments::Keywords(PyDict::new(given.py()).unbind())),
        }
    }

    fn copied<'py>(&self, given: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        given::copy(given).map_err(|why| why.into_reason().refusal(&self.spec.name))
    }

    /// A copy of the arguments, checked and coerced, before rich types are built from them: what a caller approves. The
    /// attempt that follows gets them as they are.
    pub fn fit<'py>(&self, given: &Bound<'py, PyAny>, pass: &mut CheckPass) -> Result<Bound<'py, PyAny>> {
        let args = self.copied(given)?;
        if !pass.checks.validate {
            return Ok(args);
        }
        let Some(style) = &self.value_style else {
            let named = self.named(args)?;
            if self.is_plain(&named) {
                return Ok(named.into_any());
            }
            return self.fitted(&named, None, pass).map(|fitted| fitted.value);
        };
        if args.is_none() || self.build.is_none() && !args.is_instance_of::<PyDict>() {
            return Ok(args);
        }
        // The schema describes the value, which a mapping may hold; a declared one describes the mapping.
        let property = style.property.as_deref().filter(|_| self.build.is_some());
        let Some((dict, key, value)) = style.wrapped(&args).filter(|_| self.build.is_some()) else {
            return self.fitted(&args, property, pass).map(|fitted| fitted.value);
        };
        let fitting = self.fitted(&value, property, pass)?.value;
        dict.set_item(key, fitting).map_err(|error| self.refusal(exception_text(args.py(), &error)))?;
        Ok(args)
    }

    fn prepare_keywords(&self, args: Bound<'_, PyAny>, pass: &mut CheckPass) -> Result<PreparedArguments> {
        let named = self.named(args)?;
        if !pass.checks.validate || self.is_plain(&named) {
            return Ok(PreparedArguments::Keywords(named.unbind()));
        }
        let fitting = self.checked(named.into_any(), None, pass)?;
        fitting
            .cast_into()
            .map(|fitting| PreparedArguments::Keywords(fitting.unbind()))
            .map_err(|error| self.refusal(message!("its validator returned no mapping ({})", error)))
    }

    /// No arguments for a tool that needs a value: an empty mapping if that fits. In older hubs it was None.
    fn prepare_nothing(
        &self,
        none: Bound<'_, PyAny>,
        style: &ValueStyle,
        pass: &mut CheckPass,
    ) -> Result<PreparedArguments> {
        let empty = PyDict::new(none.py()).into_any();
        let (first, second) = if pass.checks.none_is_input { (none, empty) } else { (empty, none) };
        match self.prepare_value(first, style, pass) {
            // The check that refuses None says what is missing.
            Err(error) if self.build.is_some() => {
                let second = self.prepare_value(second, style, pass);
                second.map_err(|why| if pass.checks.none_is_input { error } else { why })
            }
            first => first,
        }
    }

    /// A bare value as it is; a mapping whole, or unwrapped when its only key is the parameter's name.
    fn prepare_value(
        &self,
        args: Bound<'_, PyAny>,
        style: &ValueStyle,
        pass: &mut CheckPass,
    ) -> Result<PreparedArguments> {
        // A declared schema describes mappings; a bare value is up to the tool.
        let is_declared = self.build.is_none() && args.is_instance_of::<PyDict>();
        let args = if pass.checks.validate && is_declared { self.checked(args, None, pass)? } else { args };
        let inner = style.wrapped(&args).map(|(_, _, value)| value);
        let value = inner.unwrap_or(args);
        if !pass.checks.validate || self.build.is_none() {
            return Ok(PreparedArguments::Value(value.unbind()));
        }
        let built = self.checked(value, style.property.as_deref(), pass)?;
        Ok(PreparedArguments::Value(built.unbind()))
    }

    /// The value after the schema and the builder; `property` is the name under which the schema describes it.
    fn checked<'py>(
        &self,
        value: Bound<'py, PyAny>,
        property: Option<&str>,
        pass: &mut CheckPass,
    ) -> Result<Bound<'py, PyAny>> {
        let py = value.py();
        let fitted = self.fitted(&value, property, pass)?;
        let (Some(image), Some(build)) = (&fitted.image, &self.build) else { return Ok(fitted.value) };
        // Coerced arguments may be plain values now.
        if fitted.value.cast().is_ok_and(|named| self.is_plain(named)) {
            return Ok(fitted.value);
        }
        let build = build.bind(py);
        let error = match interpreter::call(build, [&fitted.value]) {
            Ok(built) => return Ok(built),
            Err(error) => error,
        };
        // To the schema `1e300` is an integer, as it is in JSON; pydantic takes no float of that size for one.
        let whole = || {
            let json = json::from_arguments(&fitted.value).ok().filter(|_| image.opaque.is_empty())?;
            let whole = json::to_python(py, &with_whole_numbers(&json)).ok()?;
            interpreter::call(build, [&whole]).ok()
        };
        let json_form = || {
            let json_form = self.fitted_json_form(&value, image, pass)?;
            interpreter::call(build, [&json_form.value]).ok()
        };
        if let Some(built) = whole().or_else(json_form) {
            return Ok(built);
        }
        // Builders of one value name its parameter first, which is not part of a value that the schema describes itself.
        let skipped = usize::from(self.value_style.is_some() && image.property.is_none());
        let Some(objections) = objections(py, &error, skipped) else {
            return Err(self.refusal(exception_text(py, &error)));
        };
        let json = fitted.json.as_deref().filter(|_| self.hidden.is_empty()).unwrap_or(&image.value);
        Err(image.schema.refusal(&self.spec.name, &image.value, json, &image.opaque, &objections))
    }

    /// Whether nothing has to be checked or built. Only tools that take keywords know this of their parameters.
    fn is_plain(&self, named: &Bound<'_, PyDict>) -> bool {
        self.plain.as_ref().is_some_and(|plain| given::are_plain(plain, named))
    }

    /// The value in the form that the schema wants. What fits stays the Python object that it is. Objects that the parameters
    /// do not take as they are, such as a date for a `str`, get the JSON form that an MCP tool would get.
    fn fitted<'py, 'a>(
        &'a self,
        value: &Bound<'py, PyAny>,
        property: Option<&'a str>,
        pass: &mut CheckPass,
    ) -> Result<Fitted<'py, 'a>> {
        let Some(schema) = &self.schema else {
            return Ok(Fitted { value: value.clone(), json: None, image: None });
        };
        let image = match &self.build {
            None => json::from_arguments(value).map(|json| (json, Vec::new())),
            Some(_) => json::image(value),
        };
        let (json, opaque) = image.map_err(|reason| reason.refusal(&self.spec.name))?;
        let image = Image::of(schema, json, opaque, property);
        match self.fitted_image(value, &image, pass) {
            Ok((value, json)) => Ok(Fitted { value, json, image: Some(image) }),
            Err(error) => self.fitted_json_form(value, &image, pass).ok_or(error),
        }
    }

    fn fitted_image<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        image: &Image<'_>,
        pass: &mut CheckPass,
    ) -> Result<(Bound<'py, PyAny>, Option<LargeJson>)> {
        let shown = image.without(&self.hidden);
        let py = value.py();
        let json = pass
            .run(py, |options| image.schema.check_value(&self.spec.name, &shown, &image.opaque, options))?;
        let json = json.map(LargeJson);
        let value = match (&json, image.property) {
            (None, _) => Ok(value.clone()),
            (Some(json), None) => patched(value, &shown, json),
            (Some(json), Some(name)) => patched(value, &shown[name], &json[name]),
        };
        Ok((value.map_err(|error| self.refusal(exception_text(py, &error)))?, json))
    }

    /// The value with the JSON form of its objects, if it has any and that form fits.
    fn fitted_json_form<'py, 'a>(
        &self,
        value: &Bound<'py, PyAny>,
        image: &Image<'a>,
        pass: &mut CheckPass,
    ) -> Option<Fitted<'py, 'a>> {
        if image.opaque.is_empty() {
            return None;
        }
        let json = json::from_arguments(value).ok()?;
        let value = json::to_python(value.py(), &json).ok()?;
        let image = Image::of(image.schema, json, Vec::new(), image.property);
        let (value, json) = self.fitted_image(&value, &image, pass).ok()?;
        Some(Fitted { value, json, image: Some(image) })
    }

    /// The arguments by name: nothing, a mapping, or a bare value. Of a mapping the copy is a dict.
    fn named<'py>(&self, args: Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
        let py = args.py();
        let args = match args.cast_into::<PyDict>() {
            Ok(dict) => return Ok(dict),
            Err(other) => other.into_inner(),
        };
        match &self.single {
            _ if args.is_none() => Ok(PyDict::new(py)),
            single => bare(&self.spec, single.as_ref(), &args),
        }
    }

    fn refusal(&self, reason: impl Into<Message>) -> HubError {
        invalid_arguments(&self.spec.name, reason)
    }
}

/// A bare value by the name of the one argument that it is for.
pub fn bare<'py>(
    spec: &ToolSpec,
    single: Option<impl IntoPyObject<'py>>,
    given: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDict>> {
    let Some(single) = single else {
        let names: Vec<_> =
            given::properties(spec).into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let text = match names.join(", ").as_str() {
            "" => message!("expected named arguments, got a bare value."),
            names => message!("expected named arguments ({}), got {}", names, class_of(given)),
        };
        return Err(invalid_arguments(&spec.name, text));
    };
    let named = [(single, given)].into_py_dict(given.py());
    named.map_err(|error| invalid_arguments(&spec.name, exception_text(given.py(), &error)))
}

/// A value that fits, and its JSON if that is not the one given.
struct Fitted<'py, 'a> {
    value: Bound<'py, PyAny>,
    json: Option<LargeJson>,
    /// The JSON of what was checked.
    image: Option<Image<'a>>,
}

impl<'a> Image<'a> {
    /// The JSON without the members of these names.
    fn without(&self, names: &[String]) -> Cow<'_, Value> {
        let mut shown = Cow::Borrowed(&*self.value);
        for name in names.iter().filter(|name| self.value.get(name).is_some()) {
            shown.to_mut().as_object_mut().map(|map| map.shift_remove(name));
        }
        shown
    }

    /// The image of a value, or of a mapping that has it under this name.
    fn of(
        schema: &'a ArgumentSchema,
        mut value: Value,
        mut opaque: Vec<Opaque>,
        property: Option<&'a str>,
    ) -> Self {
        if let Some(name) = property {
            opaque.iter_mut().for_each(|one| one.place = format!("/{}{}", pointer_step(name), one.place));
            value = Value::Object(Map::from_iter([(name.to_owned(), value)]));
        }
        Image { schema, value: LargeJson(value), opaque, property }
    }
}

/// Logs each rule of a schema that is not checked once.
pub fn report(py: Python<'_>, tool: &str, rules: &[Unchecked]) {
    static WARNING: Imported = Imported::new("toolhub._to_plain", "log_unchecked");
    for rule in rules {
        let logged = WARNING.get(py).and_then(|warning| warning.call1((format!("{tool}: {rule}"),)));
        if let Err(error) = logged {
            // A handler of the user's must not break the call.
            error.write_unraisable(py, None);
        }
    }
}

/// From here on every float is a whole number.
const LARGE_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The Python value for `after`, given that of `before`. Containers with a change inside are new, because two arguments may
/// share one.
pub fn patched<'py>(value: &Bound<'py, PyAny>, before: &Value, after: &Value) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    match (before, after) {
        _ if before == after => Ok(value.clone()),
        (Value::Object(before), Value::Object(after)) if value.is_instance_of::<PyDict>() => {
            let dict = value.cast::<PyDict>()?.copy()?;
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                dict.del_item(name)?;
            }
            for (name, new) in after {
                let item = match (before.get(name), dict.get_item(name)?) {
                    (Some(old), Some(item)) => patched(&item, old, new)?,
                    _ => json::to_python(py, new)?,
                };
                dict.set_item(name, item)?;
            }
            Ok(dict.into_any())
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() && is_sequence(value) => {
            let list = PyList::empty(py);
            for ((item, old), new) in value.try_iter()?.zip(before).zip(after) {
                list.append(patched(&item?, old, new)?)?;
            }
            Ok(list.into_any())
        }
        _ => json::to_python(py, after),
    }
}

/// The JSON with an integer for each float of a size that has no fractions.
pub fn with_whole_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_str().contains(['.', 'e', 'E']) => {
            let float = number.as_f64().filter(|float| float.is_finite() && float.abs() >= LARGE_FLOAT);
            let whole = float.and_then(|float| format!("{float:.0}").parse().ok());
            Value::Number(whole.unwrap_or_else(|| number.clone()))
        }
        Value::Array(items) => items.iter().map(with_whole_numbers).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, item)| (name.clone(), with_whole_numbers(item))).collect()
        }
        other => other.clone(),
    }
}

fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}
