//! What a vendor's schema cannot express and is requested as JSON text, and the way back.
//!
//! Strict mode and Gemini have no objects with free keys, Gemini has no values of any type, and strict mode has only scalars of
//! any type. A model writes such values as JSON text, because the description says so; here the text is read.

use super::Vendor;
use super::words::{common_type, types_in};
use serde_json::{Map, Value, json};
use toolhub_text::repeats_key;

/// The only parameter of a tool that has free names and no others.
const ALL: &str = "arguments";

/// True for a tree of a tool whose arguments have free names only.
fn is_open(tree: &Value) -> bool {
    let has_own = tree.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    let is_free = |others: &Value| others.is_object() || others == &Value::Bool(true);
    !has_own && tree.get("additionalProperties").is_some_and(is_free)
}

/// The tree for an API that has no free names: then one parameter holds all arguments.
pub fn gathered(tree: Value) -> Value {
    if !is_open(&tree) {
        return tree;
    }
    let others = tree["additionalProperties"].clone();
    let all = json!({"type": "object", "description": "all arguments, by their names", "additionalProperties": others});
    json!({"type": "object", "properties": {ALL: all}})
}

/// Takes the arguments out of the parameter that holds them all.
pub fn spread(tree: &Value, given: &mut Value) {
    let Some(all) = given.as_object_mut().filter(|given| given.len() == 1 && is_open(tree)) else { return };
    let held = match all.get(ALL) {
        Some(Value::Object(held)) => held.clone(),
        Some(Value::Null) => Map::new(),
        Some(Value::String(text)) => match json_in(text) {
            Some(Value::Object(held)) => held,
            _ => return,
        },
        _ => return,
    };
    *all = held;
}

/// The value of a text. One that has a key twice stays a text: which value was meant, nobody knows.
fn json_in(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|_| !repeats_key(text))
}

/// The value that a model wrote as JSON text for one of these schemas, which are not unions; `None` if the text is the value.
pub fn read(schemas: &[&Value], text: &str, vendor: Vendor) -> Option<Value> {
    let options = || {
        let listed = |schema: &&Value| {
            let several = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            several.iter().chain(schema.get("const")).cloned().collect::<Vec<_>>()
        };
        schemas.iter().flat_map(listed)
    };
    let is_complex = |value: &Value| value.is_object() || value.is_array();
    if options().any(|option| is_complex(&option)) {
        let read = json_in(text).filter(is_complex);
        if let Some(read) = read.filter(|read| options().any(|option| option == *read)) {
            return Some(read);
        }
    }
    if schemas.is_empty() {
        return None;
    }
    if schemas.iter().all(|schema| has_types(schema, &["object", "array", "null"])) {
        return json_in(text).filter(is_complex);
    }
    let is_any = |schema: &&Value| schema.as_object().is_none_or(is_any);
    match vendor {
        Vendor::OpenAi | Vendor::Anthropic => None,
        // Models often omit the quotes of a string.
        Vendor::Gemini if schemas.iter().any(is_any) && !schemas.iter().any(takes_text) => json_in(text),
        Vendor::OpenAiStrict if schemas.iter().any(is_any) => json_in(text).filter(is_complex),
        // A text or an object, which is requested as text.
        _ if schemas.iter().any(is_free_object) => json_in(text).filter(Value::is_object),
        _ => None,
    }
}

/// True for a schema that has types, all of them among these.
fn has_types(schema: &Value, known: &[&str]) -> bool {
    let types = types_in(schema.get("type"));
    !types.is_empty() && types.iter().all(|one| known.contains(one))
}

fn takes_text(schema: &&Value) -> bool {
    types_in(schema.get("type")).contains(&"string")
}

fn is_free_object(schema: &&Value) -> bool {
    let is_filled = schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    types_in(schema.get("type")).contains(&"object") && !is_filled
}

/// True for a schema that allows values of any type.
fn is_any(map: &Map<String, Value>) -> bool {
    let options = || map.get("enum").and_then(Value::as_array).and_then(|all| common_type(all));
    ["const", "anyOf", "type"].iter().all(|key| !map.contains_key(*key)) && options().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_requested_as_text_is_read() {
        let (any, text) = (json!({"description": "x"}), json!({"type": "string"}));
        let free = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let only = json!({"const": {"k": 1}});
        let some = json!({"enum": ["a", {"b": [1]}]});
        let all = [Vendor::OpenAiStrict, Vendor::Gemini];
        type Case<'a> = (&'a [&'a Value], &'a str, [Option<Value>; 2]);
        let cases: [Case<'_>; 12] = [
            (&[&any], "2.5", [None, Some(json!(2.5))]),
            (&[&any], "{\"a\": [1]}", [Some(json!({"a": [1]})), Some(json!({"a": [1]}))]),
            (&[&any], "[1]", [Some(json!([1])), Some(json!([1]))]),
            (&[&any], "plain words", [None, None]),
            (&[&any, &text], "2.5", [None, None]),
            (&[&text, &free], "{\"a\": 1}", [Some(json!({"a": 1})), Some(json!({"a": 1}))]),
            (&[&text, &free], "[1]", [None, None]),
            (&[&text, &free], "{broken", [None, None]),
            (&[&text], "{\"a\": 1}", [None, None]),
            (&[&only], "{\"k\": 1}", [Some(json!({"k": 1})), Some(json!({"k": 1}))]),
            (&[&some], "{\"b\":[1]}", [Some(json!({"b": [1]})), Some(json!({"b": [1]}))]),
            (&[&some], "a", [None, None]),
        ];
        for (schemas, given, expected) in cases {
            assert_eq!(all.map(|vendor| read(schemas, given, vendor)), expected, "{schemas:?} {given}");
        }
        // Other APIs have a form for them.
        assert_eq!(read(&[&text, &free], "{\"a\": 1}", Vendor::Anthropic), None);
    }

    #[test]
    fn free_names_are_gathered_and_spread() {
        let tree = json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}});
        assert!(gathered(tree.clone())["properties"][ALL].is_object());
        for (given, expected) in [
            (json!({"arguments": "{\"a\": \"b\"}"}), json!({"a": "b"})),
            (json!({"arguments": {"a": "b"}}), json!({"a": "b"})),
            (json!({"arguments": null}), json!({})),
            (json!({"arguments": "b"}), json!({"arguments": "b"})),
            (json!({"a": "b"}), json!({"a": "b"})),
            (json!({}), json!({})),
        ] {
            let mut value = given;
            spread(&tree, &mut value);
            assert_eq!(value, expected);
        }
        for closed in [
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        ] {
            assert_eq!(gathered(closed.clone()), closed);
        }
    }
}
