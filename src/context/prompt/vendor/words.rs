//! What the vendors share: the parts and types of a schema, and keywords that a vendor does not support as words of the
//! description.

use crate::prompt::schema::SchemaShape;
use crate::prompt::types;
use serde_json::{Map, Value, json};
pub use toolhub_registry::schema::types_in;
use toolhub_text::has_word;
use toolhub_types::model::Lang;

/// The schemas in the keywords of a tree.
pub fn parts_mut(map: &mut Map<String, Value>) -> Vec<&mut Value> {
    let mut parts = Vec::new();
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => parts.extend(named.values_mut()),
            ("anyOf" | "prefixItems", Value::Array(several)) => parts.extend(several),
            ("items" | "additionalProperties" | "contains", one) => parts.push(one),
            _ => {}
        }
    }
    parts
}

/// Gives the properties of a schema other names. Returns whether any differs; fails when two become one.
pub fn rename_properties(
    map: &mut Map<String, Value>,
    shown: impl Fn(&str, &mut Value) -> String,
) -> Result<bool, String> {
    let Some(Value::Object(properties)) = map.get_mut("properties") else { return Ok(false) };
    let mut is_renamed = false;
    for (name, mut schema) in std::mem::take(properties) {
        let key = shown(&name, &mut schema);
        is_renamed |= key != name;
        if properties.contains_key(&key) {
            return Err(format!("two of its parameters would be called '{key}'"));
        }
        properties.insert(key, schema);
    }
    Ok(is_renamed)
}

/// The names of types in a `type`, or else that of all values of an `enum`.
pub fn types_told(map: &Map<String, Value>) -> Vec<String> {
    let mut types = types_in(map.get("type"));
    if types.is_empty() {
        types.extend(map.get("enum").and_then(Value::as_array).and_then(|all| common_type(all)));
    }
    types.into_iter().map(str::to_owned).collect()
}

/// Keywords that limit values of certain types only.
const LIMITS: [(&str, &str); 4] = [
    ("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", "number integer"),
    ("minLength maxLength", "string"),
    ("minItems maxItems", "array"),
    ("pattern", "string"),
];

/// Whether a keyword may limit a value of one of these types, in the form that every vendor's engine takes.
pub fn may_limit(key: &str, value: &Value, types: &[&str]) -> bool {
    let of = LIMITS.iter().find(|(keys, _)| has_word(keys, key));
    of.is_none_or(|(_, of)| types.iter().any(|one| has_word(of, one)))
        && (key != "pattern" || value.as_str().is_some_and(is_simple_pattern))
}

/// Removes all keywords that `keep` does not allow, and describes them in the description.
pub fn put_into_words(map: &mut Map<String, Value>, keep: impl Fn(&str, &Value) -> bool) {
    let (kept, lost): (Map<_, _>, Map<_, _>) =
        std::mem::take(map).into_iter().partition(|(key, value)| keep(key, value));
    *map = kept;
    if lost.is_empty() {
        return;
    }
    let lost = Value::Object(lost);
    let shape = SchemaShape::of(&lost);
    let mut words = types::limits(&shape, Lang::En);
    if let Some(options) = shape.get("enum").and_then(Value::as_array) {
        words.insert(0, types::options_in_words(options, Lang::En));
    }
    if let Some(only) = shape.get("const") {
        words.insert(0, format!("always {}", types::literal(only)));
    }
    if let Some(default) = shape.get("default").filter(|default| !default.is_null()) {
        words.push(format!("default {}", types::default(default)));
    }
    if !words.is_empty() {
        add_words(map, &words.join(", "));
    }
}

/// Adds `(words)` to a description.
pub fn add_words(map: &mut Map<String, Value>, words: &str) {
    let text =
        match map.get("description").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => format!("{text} ({words})"),
            None => words.to_owned(),
        };
    map.insert("description".into(), Value::String(text));
}

/// A text in the place of a value that the API cannot describe.
pub fn as_text(mut map: Map<String, Value>, type_name: &str, words: &str) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".into(), json!(type_name));
    out.extend(map.remove("description").map(|text| ("description".to_owned(), text)));
    if let Some(Value::Array(options)) = map.remove("enum") {
        add_words(&mut out, &types::options_in_words(&options, Lang::En));
    }
    add_words(&mut out, words);
    out
}

/// The schema of all items of an array, for an API that has no items by place.
pub fn item_of(map: &mut Map<String, Value>, otherwise: Value) -> Value {
    match (map.remove("prefixItems"), map.remove("items")) {
        (Some(Value::Array(by_place)), _) => json!({"anyOf": by_place}),
        (_, item) => item.unwrap_or(otherwise),
    }
}

/// True for a pattern that every vendor's engine knows: look-around and groups with a flag are refused, and broken patterns.
fn is_simple_pattern(pattern: &str) -> bool {
    !pattern.contains("(?") && jsonschema::options().build(&json!({"pattern": pattern})).is_ok()
}

/// The type of all values of an enum, if they share one.
pub fn common_type(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
    };
    let mut names = values.iter().map(name);
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}
