//! A Python tool from the description that `toolhub._signature.build.describe` made and the options given at registration.

use crate::classes::options::{named, seconds};
use crate::prelude::*;
use crate::runtime::interpreter::ForkSafeOnce;
use crate::runtime::tool_loops::ServedLoops;
use crate::values::arguments::argument_checks::ValueStyle;
use crate::values::arguments::callable::{Callable, CallableKind};
use crate::values::arguments::given::plain_parameters;
use crate::values::json::as_json;
use pyo3::conversion::FromPyObjectOwned;
use std::sync::OnceLock;
use toolhub::hub::Hub;
use toolhub::model::{NothingMeans, ToolIdentity, ToolSpec, Trust, tags};
use toolhub::schema::ArgumentSchema;
use toolhub::select::effects::{self, Declaration, EffectsInput};

/// The tool, ready to be called.
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
    let is_checked: bool = described.getattr("is_checked")?.extract()?;
    Ok(Callable {
        kind: CallableKind::Tool,
        name: PyString::intern(py, &spec.name).unbind(),
        is_async: described.getattr("is_async")?.extract()?,
        nothing_means: match described.getattr("nothing_fails")?.is_truthy()? {
            true => NothingMeans::Failure,
            false => NothingMeans::Success,
        },
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
    let object = |key: &str| option::<Bound<'_, PyAny>>(options, key, "an object");
    let flag = |key: &str| option::<bool>(options, key, "True or False");
    let text = |key: &str| Ok::<_, PyErr>(option::<String>(options, key, "text")?.map(Arc::<str>::from));
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
        timeout: seconds("timeout", option(options, "timeout", "a number of seconds")?)?,
        max_concurrency: option(options, "max_concurrency", "a whole number")?,
        strategy: text("strategy")?.map(|name| named("strategy", &name)).transpose()?,
        ..ToolSpec::named(name)
    })
}

/// An option that was given and is not None.
fn option<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyDict>,
    key: &str,
    expected: &str,
) -> PyResult<Option<T>> {
    let given = options.get_item(key)?.filter(|value| !value.is_none());
    given.map(|value| value.extract().map_err(|_| wrong(key, expected, &value))).transpose()
}

fn wrong(what: &str, expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{what} must be {expected}, got {}", class_of(given)))
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
