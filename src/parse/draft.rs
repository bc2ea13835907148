//! A call as a dialect wrote it, before it has an id and a place; and how JSON says one.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::extent::{Notation, looks_torn};
use super::found::Given;
use super::lenient::{self, MayMiss, Repair, Repairs};
use super::options::Tools;
use super::plain::Plain;

/// Keys that mean the name of the tool, the first one wins.
const NAME_KEYS: &[&str] = &["name", "tool_name", "tool", "function_name", "function", "action"];
/// Keys that mean its arguments.
pub(super) const ARGUMENT_KEYS: &[&str] =
    &["arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs"];
/// Keys that say something about the call.
const ABOUT_KEYS: &[&str] = &["source", "type", "index", "description"];
const ID_KEYS: &[&str] = &["id", "call_id", "tool_call_id"];
/// Keys that hold a list of calls.
const LIST_KEYS: &[&str] = &["tool_calls", "function_calls"];
/// Keys that hold the call itself.
const INNER_KEYS: &[&str] = &["function", "function_call", "functionCall", "tool_call"];

/// Every key that the first one of a bare call may be, longer ones before those that they begin with.
pub(super) const FIRST_KEYS: &[&str] = &[
    "tool_call_id",
    "tool_calls",
    "tool_call",
    "tool_name",
    "tool_input",
    "tool",
    "function_calls",
    "function_call",
    "function_name",
    "functionCall",
    "function",
    "name",
    "action_input",
    "action",
    "arguments",
    "args",
    "parameters",
    "params",
    "kwargs",
    "input",
    "type",
    "id",
    "call_id",
    "source",
    "index",
];

/// The call that a text begins with, in strict JSON and said in the usual way, and its length. No detour over the
/// search for its end and over a value; whatever is odd goes the careful way.
pub(super) fn usual(text: &str) -> Option<(Draft, usize)> {
    let (draft, length) = plain(text).or_else(|| parsed(text))?;
    (!looks_torn(&text.as_bytes()[..length])).then_some((draft, length))
}

fn parsed(text: &str) -> Option<(Draft, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Usual>();
    let Usual(draft) = values.next()?.ok()?;
    Some((draft, values.byte_offset()))
}

/// What [`parsed`] says, several times as fast, for the plainest calls, which are most.
fn plain(text: &str) -> Option<(Draft, usize)> {
    let mut json = Plain::new(text);
    let (mut name, mut arguments, mut id, mut source) = (None, None, None, None);
    json.pass(b'{')?;
    loop {
        let key = json.string()?;
        json.pass(b':')?;
        let (place, value) = match key {
            "name" | "tool_name" => (&mut name, json.string()?),
            "arguments" | "parameters" | "args" => (&mut arguments, json.object()?),
            "id" => (&mut id, json.string()?),
            "source" => (&mut source, json.string()?),
            _ => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
        match json.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    let name = name.filter(|name| !name.is_empty() && name.trim() == *name)?.to_owned();
    if id == Some("") {
        return None;
    }
    let given = arguments.map_or_else(|| Some(Given::default()), Given::of)?;
    let (id, source) = (id.map(str::to_owned), source.map(str::to_owned));
    // Said in full, because the default of what is given has to be made.
    Some((Draft { name, given, id, source, repairs: Repairs::default(), error: None }, json.read()))
}

struct Usual(Draft);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum UsualKey {
    #[serde(alias = "tool_name")]
    Name,
    #[serde(alias = "parameters", alias = "args")]
    Arguments,
    Id,
    Source,
}

impl<'de> Deserialize<'de> for Usual {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Usual;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a call")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Usual, A::Error> {
                let (mut draft, mut arguments) = (Draft::default(), None::<&RawValue>);
                // What is said twice is for the careful way.
                while let Some(key) = map.next_key()? {
                    let new = match key {
                        UsualKey::Name => std::mem::replace(&mut draft.name, map.next_value()?).is_empty(),
                        UsualKey::Arguments => arguments.replace(map.next_value()?).is_none(),
                        UsualKey::Id => draft.id.replace(map.next_value()?).is_none(),
                        UsualKey::Source => draft.source.replace(map.next_value()?).is_none(),
                    };
                    if !new {
                        return Err(de::Error::custom("twice"));
                    }
                }
                let odd = draft.name.is_empty()
                    || draft.name.trim() != draft.name
                    || draft.id.as_deref().is_some_and(str::is_empty);
                let given = arguments.map_or(Some(Given::default()), |json| Given::of(json.get()));
                match given.filter(|_| !odd) {
                    Some(given) => Ok(Usual(Draft { given, ..draft })),
                    None => Err(de::Error::custom("odd")),
                }
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A call that was read, or why it could not be.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub name: String,
    pub given: Given,
    pub id: Option<String>,
    pub source: Option<String>,
    pub repairs: Repairs,
    pub error: Option<String>,
}

impl Draft {
    pub fn failed(name: &str, error: impl Into<String>) -> Self {
        Self { name: name.to_owned(), error: Some(error.into()), ..Self::default() }
    }

    /// A call with what was read of its arguments.
    pub fn new(name: &str, arguments: Result<Value, String>, repairs: Repairs) -> Self {
        let mut draft = Self { name: name.to_owned(), repairs, ..Self::default() };
        match arguments {
            _ if name.is_empty() => draft.error = Some("The call has no name.".into()),
            Ok(Value::Object(arguments)) => draft.given = Given::Read(Box::new(arguments)),
            Ok(Value::Null) => {}
            Ok(Value::String(text)) => draft.take_text(&text),
            Ok(other) => draft.error = Some(not_an_object(&other)),
            Err(why) => draft.error = Some(format!("The arguments cannot be read: {why}.")),
        }
        draft
    }

    /// Arguments that are a JSON text once more.
    fn take_text(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match lenient::read(text.trim(), Notation::Json, MayMiss::NONE) {
            Ok(reading) if reading.value.is_object() && reading.whole => {
                self.repairs.join(reading.repairs);
                self.repairs.add(Repair::ArgumentsAsString);
                if let Value::Object(arguments) = reading.value {
                    self.given = Given::Read(Box::new(arguments));
                }
            }
            Err(why) if text.trim_start().starts_with('{') => {
                self.error = Some(format!("The arguments cannot be read: {why}."));
            }
            _ => self.error = Some("The arguments must be an object, but are a text.".into()),
        }
    }
}

fn not_an_object(value: &Value) -> String {
    let kind = match value {
        Value::Array(_) => "a list",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        _ => "a text",
    };
    format!("The arguments must be an object, but are {kind}.")
}

/// What a JSON value means to the one who reads it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It stands where a call must be: what is none is an error.
    Marked,
    /// The same, and an object with one key is the tool of that name with those arguments.
    Keyed,
    /// It may be data.
    Bare,
}

/// Whether a value that has lost its last bracket was cut before it came to its arguments.
pub(super) fn ends_early(value: &Value, shape: Shape) -> bool {
    let Value::Object(map) = value else { return false };
    let says =
        |keys: &[&str], fits: fn(&Value) -> bool| keys.iter().any(|key| map.get(*key).is_some_and(fits));
    let said = says(ARGUMENT_KEYS, |_| true)
        || says(LIST_KEYS, Value::is_array)
        || says(INNER_KEYS, Value::is_object)
        || (shape == Shape::Keyed && map.len() == 1);
    !said
}

/// The calls that a value says, or `None` if it is bare and says none.
pub(super) fn calls(value: Value, repairs: Repairs, shape: Shape, tools: &Tools) -> Option<Vec<Draft>> {
    match value {
        Value::Array(items) if shape == Shape::Bare && items.is_empty() => None,
        Value::Array(items) => {
            let mut found = Vec::with_capacity(items.len());
            for item in items {
                if shape == Shape::Bare && !item.is_object() {
                    return None;
                }
                found.extend(calls(item, repairs, shape, tools)?);
            }
            Some(found)
        }
        Value::Object(map) => object(map, repairs, shape, tools),
        _ if shape == Shape::Bare => None,
        _ => Some(vec![Draft::failed("", "A call must be a JSON object with a name and arguments.")]),
    }
}

fn object(
    mut map: Map<String, Value>,
    mut repairs: Repairs,
    shape: Shape,
    tools: &Tools,
) -> Option<Vec<Draft>> {
    let named = NAME_KEYS.iter().any(|key| map.get(*key).is_some_and(Value::is_string));
    if !named {
        if let Some(list) = LIST_KEYS.iter().find_map(|key| map.remove(*key).filter(Value::is_array)) {
            repairs.add(Repair::NestedShape);
            return calls(list, repairs, shape, tools);
        }
        if let Some(Value::Object(mut inner)) =
            INNER_KEYS.iter().find_map(|key| map.remove(*key).filter(Value::is_object))
        {
            repairs.add(Repair::NestedShape);
            for key in ID_KEYS.iter().chain(&["source"]) {
                if let Some(outer) = map.remove(*key) {
                    inner.entry(*key).or_insert(outer);
                }
            }
            return object(inner, repairs, shape, tools);
        }
        if shape == Shape::Keyed && map.len() == 1 {
            let (name, arguments) = map.into_iter().next()?;
            return Some(vec![Draft::new(&name, Ok(arguments), repairs)]);
        }
    }
    let name = NAME_KEYS.iter().find_map(|key| match map.get(*key) {
        Some(Value::String(name)) => Some(name.trim().to_owned()),
        _ => None,
    });
    let name = name.unwrap_or_default();
    if shape == Shape::Bare && map.get("parameters").is_some_and(|schema| schema.get("properties").is_some())
    {
        // The description of a tool has the same keys.
        return None;
    }
    let mut arguments = ARGUMENT_KEYS.iter().find_map(|key| map.remove(*key));
    if arguments.is_none() && shape != Shape::Bare {
        arguments = beside_the_name(&map).map(Value::Object);
        if arguments.is_some() {
            repairs.add(Repair::BesideTheName);
        }
    }
    let is_call = !name.is_empty() && (arguments.is_some() || tools.contains_key(&name));
    if shape == Shape::Bare && !is_call {
        return None;
    }
    let mut draft = Draft::new(&name, Ok(arguments.unwrap_or_default()), repairs);
    if shape == Shape::Bare && draft.error.is_some() {
        return None;
    }
    draft.id = ID_KEYS.iter().find_map(|key| match map.get(*key) {
        Some(Value::String(id)) if !id.is_empty() => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    });
    draft.source = map.get("source").and_then(Value::as_str).map(str::to_owned);
    Some(vec![draft])
}

/// Arguments that were written beside the name instead of inside their own object.
fn beside_the_name(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    let known = |key: &str| [NAME_KEYS, ID_KEYS, ABOUT_KEYS].iter().any(|keys| keys.contains(&key));
    let beside: Map<_, _> =
        map.iter().filter(|(key, _)| !known(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    (!beside.is_empty()).then_some(beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARTS: &[&str] = &[
        "\"name\": \"f\"",
        "\"tool_name\": \" g\"",
        "\"name\": \"\"",
        "\"name\": 1",
        "\"arguments\": {}",
        "\"args\": {\"a\": [1, \"x1e\"]}",
        "\"parameters\": null",
        "\"arguments\": {\"a\": \"\\u0041\"}",
        "\"id\": \"7\"",
        "\"id\": \"\"",
        "\"source\": \"s\\n\"",
        "\"source\": \"s\"",
        "\"other\": 1",
        ",",
        "}",
        " ",
    ];

    proptest! {
        #[test]
        fn the_plain_way_says_the_same(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..5),
            end in prop::sample::select(&["}", "} </tool_call>", ",}", ""][..]),
        ) {
            let text = format!("{{{}{end}", parts.join(", "));
            if let Some(call) = plain(&text) {
                prop_assert_eq!(Some(call), parsed(&text));
            }
        }
    }

    #[test]
    fn the_usual_call_goes_the_plain_way() {
        let text = r#"{"name": "f", "arguments": {"a": 1, "b": "x\ny"}, "id": "1", "source": "s"} more"#;
        assert_eq!(plain(text), parsed(text));
        assert!(plain(text).is_some());
    }
}
