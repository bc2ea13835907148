//! The fast path of argument checks: values that fit as they are, without a JSON copy and without pydantic.
//!
//! `toolhub._signature` names the parameters whose hint means plain JSON (`str`, `int | None`, `list[float]`, `Literal`, …).
//! Their shapes are read from the tool's JSON Schema, so a value that passes here also passes the schema; any other value,
//! and any value that needs a conversion, takes the full path.

use crate::prelude::*;
use crate::runtime::gil::Entries;
use serde_json::Map;

/// A parameter whose JSON value is its Python value.
pub struct PlainParameter {
    name: Py<PyString>,
    shape: PlainShape,
    required: bool,
}

enum PlainShape {
    Anything,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    Options(Vec<Value>),
    List(Box<PlainShape>),
    Mapping(Box<PlainShape>),
    AnyOf(Vec<PlainShape>),
}

/// The parameters of these names. `None` if one of them has a shape that is not known here.
pub fn parameters(names: &[Py<PyString>], schema: &Value, py: Python<'_>) -> Option<Vec<PlainParameter>> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array);
    let parameter = |name: &Py<PyString>| {
        let text = name.to_str(py).ok()?;
        Some(PlainParameter {
            shape: PlainShape::read(properties.get(text)?.as_object()?)?,
            required: required.is_some_and(|required| required.iter().any(|one| one == text)),
            name: name.clone_ref(py),
        })
    };
    names.iter().map(parameter).collect()
}

/// Whether the arguments fit as they are: each parameter that is given has its shape, and no other argument is given.
pub fn fit(parameters: &[PlainParameter], named: &Bound<'_, PyDict>) -> bool {
    let mut known = 0;
    for parameter in parameters {
        match named.get_item(&parameter.name) {
            Ok(Some(value)) if parameter.shape.fits(&value) => known += 1,
            Ok(None) if !parameter.required => {}
            _ => return false,
        }
    }
    known == named.len()
}

impl PlainShape {
    fn read(schema: &Map<String, Value>) -> Option<PlainShape> {
        const NOTES: [&str; 4] = ["description", "default", "title", "examples"];
        let keys: Vec<&str> = schema.keys().map(String::as_str).filter(|key| !NOTES.contains(key)).collect();
        let only = |allowed: &[&str]| keys.iter().all(|key| allowed.contains(key));
        if keys.is_empty() {
            return Some(PlainShape::Anything);
        }
        if let Some(choices) = schema.get("anyOf").filter(|_| only(&["anyOf"])) {
            let shapes = choices.as_array()?.iter().map(|choice| PlainShape::read(choice.as_object()?));
            return shapes.collect::<Option<_>>().map(PlainShape::AnyOf);
        }
        if let Some(options) = schema.get("enum").filter(|_| only(&["enum", "type"])) {
            return options.as_array().cloned().map(PlainShape::Options);
        }
        if let Some(option) = schema.get("const").filter(|_| only(&["const", "type"])) {
            return Some(PlainShape::Options(vec![option.clone()]));
        }
        let inner = |key: &str| match schema.get(key) {
            None | Some(Value::Bool(true)) => Some(Box::new(PlainShape::Anything)),
            Some(inner) => PlainShape::read(inner.as_object()?).map(Box::new),
        };
        match schema.get("type")?.as_str()? {
            "array" if only(&["type", "items"]) => inner("items").map(PlainShape::List),
            "object" if only(&["type", "additionalProperties"]) => {
                inner("additionalProperties").map(PlainShape::Mapping)
            }
            _ if !only(&["type"]) => None,
            "null" => Some(PlainShape::Null),
            "boolean" => Some(PlainShape::Boolean),
            "integer" => Some(PlainShape::Integer),
            "number" => Some(PlainShape::Number),
            "string" => Some(PlainShape::Text),
            _ => None,
        }
    }

    /// Exact types only: a subclass, or an integer for a number, may have to be converted.
    fn fits(&self, value: &Bound<'_, PyAny>) -> bool {
        match self {
            PlainShape::Anything => true,
            PlainShape::Null => value.is_none(),
            PlainShape::Boolean => value.is_exact_instance_of::<PyBool>(),
            PlainShape::Integer => value.is_exact_instance_of::<PyInt>(),
            PlainShape::Number => value.is_exact_instance_of::<PyFloat>(),
            PlainShape::Text => value.is_exact_instance_of::<PyString>(),
            PlainShape::Options(options) => options.iter().any(|option| is_option(value, option)),
            PlainShape::List(items) => {
                value.cast_exact::<PyList>().is_ok_and(|list| list.iter().all(|item| items.fits(&item)))
            }
            PlainShape::Mapping(values) => value.cast_exact::<PyDict>().is_ok_and(|dict| {
                Entries::of(dict).all(|entry| {
                    entry.is_ok_and(|(key, value)| {
                        key.is_exact_instance_of::<PyString>() && values.fits(&value)
                    })
                })
            }),
            PlainShape::AnyOf(shapes) => shapes.iter().any(|shape| shape.fits(value)),
        }
    }
}

fn is_option(value: &Bound<'_, PyAny>, option: &Value) -> bool {
    match option {
        Value::String(text) => {
            value.cast_exact::<PyString>().is_ok_and(|value| value.to_str().is_ok_and(|value| value == text))
        }
        Value::Number(number) => {
            value.is_exact_instance_of::<PyInt>()
                && value.extract::<i64>().is_ok_and(|value| number.as_i64() == Some(value))
        }
        Value::Bool(flag) => value.cast_exact::<PyBool>().is_ok_and(|value| value.is_true() == *flag),
        Value::Null => value.is_none(),
        _ => false,
    }
}
