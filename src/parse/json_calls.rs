//! The calls in a JSON value, in the shapes that models and APIs give them.

use serde_json::{Map, Value};

use super::draft::Draft;
use super::keys::{
    ABOUT_KEYS, ARGUMENT_KEYS, ID_KEYS, INNER_KEYS, LIST_KEYS, NAME_KEYS, SAME_KEYS, is_record,
};
use super::repair::{Repairs, SyntaxRepair};
use super::schemas::ToolSchemas;

/// What a JSON value stands for in its dialect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallShape {
    /// It stands where a call must be: anything else is an error.
    Marked,
    /// As `Marked`; an object with a single key is the tool of that name with its arguments.
    Keyed,
    /// It may be data that is not a call.
    Bare,
}

/// True if a value without its last bracket was cut before its arguments.
pub(super) fn ends_early(value: &Value, shape: CallShape) -> bool {
    let Value::Object(map) = value else { return false };
    let has =
        |keys: &[&str], fits: fn(&Value) -> bool| keys.iter().any(|key| map.get(*key).is_some_and(fits));
    let complete = has(ARGUMENT_KEYS, |_| true)
        || has(LIST_KEYS, Value::is_array)
        || has(INNER_KEYS, Value::is_object)
        || (shape == CallShape::Keyed && map.len() == 1);
    !complete
}

/// Takes the call out of a value that goes on behind the end of its text: a bracket at the depth `dangling` was left open
/// where another member should come. The value is then the list of the calls before it, or an empty list.
pub(super) fn take_cut(value: &mut Value, dangling: usize, shape: CallShape) -> Option<Value> {
    let (last, depth) = match &*value {
        Value::Array(items) => (items.last()?, 2),
        last => (last, 1),
    };
    let is_cut = dangling > depth || (dangling == depth && ends_early(last, shape));
    match value {
        Value::Array(items) if is_cut => items.pop(),
        value => is_cut.then(|| std::mem::replace(value, Value::Array(Vec::new()))),
    }
}

/// True if a bare call was cut before its arguments, so that the call behind it stands in their place.
pub(super) fn swallows_next(value: &Value) -> bool {
    let is_call = |value: &Value| {
        NAME_KEYS.iter().any(|key| value.get(*key).is_some_and(Value::is_string))
            && ARGUMENT_KEYS.iter().any(|key| value.get(*key).is_some())
    };
    ARGUMENT_KEYS.iter().any(|key| value.get(*key).is_some_and(is_call))
}

/// The calls that a value holds, or `None` for a bare value that is not a call.
pub(super) fn calls(
    value: Value,
    repairs: Repairs,
    shape: CallShape,
    tools: &dyn ToolSchemas,
) -> Option<Vec<Draft>> {
    match value {
        Value::Array(items) if shape == CallShape::Bare && items.is_empty() => None,
        Value::Array(items) => {
            let mut found = Vec::with_capacity(items.len());
            for item in items {
                if shape == CallShape::Bare && !item.is_object() {
                    return None;
                }
                found.extend(calls(item, repairs, shape, tools)?);
            }
            Some(found)
        }
        Value::Object(map) => object(map, repairs, shape, tools),
        _ if shape == CallShape::Bare => None,
        _ => Some(vec![Draft::failed("", "A call must be a JSON object with a name and arguments.")]),
    }
}

fn object(
    mut map: Map<String, Value>,
    mut repairs: Repairs,
    shape: CallShape,
    tools: &dyn ToolSchemas,
) -> Option<Vec<Draft>> {
    // The API has already executed it.
    if shape == CallShape::Bare && map.get("type").is_some_and(|kind| kind == "server_tool_use") {
        return None;
    }
    let named = NAME_KEYS.iter().any(|key| map.get(*key).is_some_and(Value::is_string));
    if named && shape == CallShape::Bare && is_record(map.keys().map(String::as_str)) {
        return None;
    }
    if !named {
        if let Some(list) = LIST_KEYS.iter().find_map(|key| map.remove(*key).filter(Value::is_array)) {
            repairs.add(SyntaxRepair::NestedShape);
            return calls(list, repairs, shape, tools);
        }
        if let Some(Value::Object(mut inner)) =
            INNER_KEYS.iter().find_map(|key| map.remove(*key).filter(Value::is_object))
        {
            repairs.add(SyntaxRepair::NestedShape);
            for key in ID_KEYS.iter().chain(&["source"]) {
                if let Some(outer) = map.remove(*key) {
                    inner.entry(*key).or_insert(outer);
                }
            }
            return object(inner, repairs, shape, tools);
        }
        if shape == CallShape::Keyed && map.len() == 1 {
            let (name, arguments) = map.into_iter().next()?;
            return Some(vec![Draft::new(&name, Ok(arguments), repairs)]);
        }
    }
    let name = NAME_KEYS.iter().find_map(|key| match map.get(*key) {
        Some(Value::String(name)) => Some(name.trim().to_owned()),
        _ => None,
    });
    let name = name.unwrap_or_default();
    if shape == CallShape::Bare
        && map.get("parameters").is_some_and(|schema| schema.get("properties").is_some())
    {
        // A tool description has the same keys.
        return None;
    }
    if let Some(why) = contradiction(&map) {
        return (shape != CallShape::Bare)
            .then(|| vec![Draft::failed(&name, format!("The call cannot be read: {why}."))]);
    }
    let mut arguments = ARGUMENT_KEYS.iter().find_map(|key| map.remove(*key));
    if arguments.is_none() && shape != CallShape::Bare {
        arguments = beside_the_name(&map).map(Value::Object);
        if arguments.is_some() {
            repairs.add(SyntaxRepair::BesideTheName);
        }
    }
    // Without arguments, and with something else beside the name, it is data about a tool, such as the result of a call.
    let is_plain = || tools.parameters(&name).is_some() && beside_the_name(&map).is_none();
    let is_call = !name.is_empty() && (arguments.is_some() || is_plain());
    if shape == CallShape::Bare && !is_call {
        return None;
    }
    let mut draft = Draft::new(&name, Ok(arguments.unwrap_or_default()), repairs);
    if shape == CallShape::Bare && draft.error.is_some() {
        return None;
    }
    draft.id = id_of(&map);
    draft.source = map.get("source").and_then(Value::as_str).map(str::to_owned);
    Some(vec![draft])
}

/// Why a call means two things: keys that are the same thing hold different values.
fn contradiction(map: &Map<String, Value>) -> Option<String> {
    SAME_KEYS.iter().find_map(|keys| {
        let given = keys.iter().filter_map(|key| Some((key, map.get(*key)?)));
        let mut given = given.filter(|(_, value)| !value.is_null());
        let (first, value) = given.next()?;
        let (other, _) = given.find(|(_, other)| *other != value)?;
        Some(format!("\"{first}\" and \"{other}\" differ; give only one of them"))
    })
}

/// The id of a call.
pub(super) fn id_of(map: &Map<String, Value>) -> Option<String> {
    ID_KEYS.iter().find_map(|key| match map.get(*key) {
        Some(Value::String(id)) if !id.is_empty() => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    })
}

/// Arguments written next to the name instead of inside their own object.
fn beside_the_name(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    let known = |key: &str| [NAME_KEYS, ID_KEYS, ABOUT_KEYS].iter().any(|keys| keys.contains(&key));
    let beside: Map<_, _> =
        map.iter().filter(|(key, _)| !known(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    (!beside.is_empty()).then_some(beside)
}
