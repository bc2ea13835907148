//! Gemini's subset of OpenAPI 3.0: one type per value, `nullable` for null, only strings in enums, items for every array, no
//! object without properties.

use super::inline::gather_in_object;
use super::words::{add_words, as_text, item_of, may_limit, put_into_words, types_told};
use crate::prompt::types;
use serde_json::{Map, Value, json};
use toolhub_text::has_word;
use toolhub_types::model::Lang;

const KEPT: &str = "type description title nullable enum format properties required items anyOf minimum \
    maximum minItems maxItems pattern minLength maxLength";

/// A tree in Gemini's form.
pub fn openapi(tree: Value) -> Value {
    let Value::Object(mut map) = tree else { return text("any value, as JSON text") };
    gather_in_object(&mut map);
    if let Some(Value::Array(branches)) = map.remove("anyOf") {
        return union(map, branches);
    }
    let mut types = types_told(&map);
    let several = types.len();
    types.retain(|name| name != "null");
    let nullable = types.len() < several || map.get("nullable") == Some(&Value::Bool(true));
    map.remove("nullable");
    let mut made = match types.as_slice() {
        [] if several > 0 => text("always null"),
        [] => {
            put_into_words(&mut map, |key, _| key == "description");
            Value::Object(as_text(map, "STRING", "any value, as JSON text"))
        }
        [one] => typed(map, one),
        several => union(
            Map::new(),
            several
                .iter()
                .map(|name| {
                    let mut branch = map.clone();
                    branch.insert("type".into(), json!(name));
                    Value::Object(branch)
                })
                .collect(),
        ),
    };
    if nullable {
        allow_null(&mut made);
    }
    made
}

/// `anyOf` must stand alone, so each of its branches accepts null.
fn allow_null(made: &mut Value) {
    let Some(map) = made.as_object_mut() else { return };
    match map.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(branches) => branches.iter_mut().for_each(allow_null),
        None => drop(map.insert("nullable".into(), Value::Bool(true))),
    }
}

fn typed(mut map: Map<String, Value>, name: &str) -> Value {
    map.insert("type".into(), json!(name.to_uppercase()));
    let options = map.remove("enum");
    if let Some(Value::Array(options)) = options {
        let texts: Vec<Value> =
            options.iter().filter(|one| one.as_str().is_some_and(|text| !text.is_empty())).cloned().collect();
        // Only non-empty strings are allowed; other values go into the description.
        if name == "string"
            && texts.len() == options.iter().filter(|one| !one.is_null()).count()
            && !texts.is_empty()
        {
            map.insert("enum".into(), Value::Array(texts));
            map.insert("format".into(), json!("enum"));
        } else {
            add_words(&mut map, &types::options_in_words(&options, Lang::En));
        }
    }
    match name {
        "object" => return object(map),
        "array" => {
            let item = item_of(&mut map, json!({"type": "string"}));
            map.insert("items".into(), openapi(item));
        }
        _ => drop((map.remove("items"), map.remove("prefixItems"))),
    }
    for key in ["properties", "required"] {
        map.remove(key);
    }
    finish(map, name)
}

fn object(mut map: Map<String, Value>) -> Value {
    map.remove("items");
    let properties = match map.remove("properties") {
        Some(Value::Object(properties)) if !properties.is_empty() => properties,
        _ => return Value::Object(as_text(map, "STRING", "a JSON object, as text")),
    };
    let inner = properties.into_iter().map(|(name, schema)| (name, openapi(schema))).collect();
    map.insert("properties".into(), Value::Object(inner));
    finish(map, "object")
}

fn finish(mut map: Map<String, Value>, name: &str) -> Value {
    let formats = match name {
        "string" => "date-time enum",
        "number" => "float double",
        "integer" => "int32 int64",
        _ => "",
    };
    put_into_words(&mut map, |key, value| {
        has_word(KEPT, key)
            && may_limit(key, value, &[name])
            && (key != "format" || value.as_str().is_some_and(|format| has_word(formats, format)))
    });
    Value::Object(map)
}

/// `anyOf` must stand alone: keywords for all branches are copied into each.
fn union(map: Map<String, Value>, branches: Vec<Value>) -> Value {
    let is_null = |branch: &Value| branch.get("type").and_then(Value::as_str) == Some("null");
    let nullable = branches.iter().any(is_null) || map.get("nullable") == Some(&Value::Bool(true));
    let mut made: Vec<Value> = Vec::new();
    for branch in branches.into_iter().filter(|branch| !is_null(branch)) {
        let mut branch = openapi(branch);
        if nullable {
            allow_null(&mut branch);
        }
        if let Some(branch) = branch.as_object_mut().filter(|branch| !branch.contains_key("anyOf")) {
            if let Some(description) = map.get("description") {
                branch.entry("description").or_insert_with(|| description.clone());
            }
            if let Some(default) = map.get("default").filter(|default| !default.is_null()) {
                add_words(branch, &format!("default {}", types::default(default)));
            }
        }
        if !made.contains(&branch) {
            made.push(branch);
        }
    }
    match made.len() {
        0 => text("always null"),
        1 => made.remove(0),
        _ => json!({"anyOf": made}),
    }
}

fn text(words: &str) -> Value {
    json!({"type": "STRING", "description": words})
}
