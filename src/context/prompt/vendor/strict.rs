//! OpenAI's strict mode: every object is closed and every property required, so an optional one may be null. An open object
//! cannot be expressed and becomes a string with JSON, which the hub parses.

use super::inline::gather_in_object;
use super::words::{add_words, as_text, item_of, may_limit, put_into_words, types_in, types_told};
use serde_json::{Map, Value, json};
use toolhub_text::has_word;

const DEEPEST: usize = 10;
const MOST_PROPERTIES: usize = 5_000;
const MOST_OPTIONS: usize = 1_000;
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const KEPT: &str = "type description title enum properties required items anyOf format pattern minimum maximum \
    exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems";
/// How to give a value of any type that is not a scalar.
const OTHERS: &str = "an object or a list as JSON text";

/// A tree in strict form.
pub fn closed(tree: Value) -> Result<Value, String> {
    let mut closing = Closing { properties: 0 };
    let Value::Object(map) = tree else { return Err("its schema is not a JSON object".into()) };
    let closed = closing.object(map, 1);
    if closing.properties > MOST_PROPERTIES {
        return Err(format!("it has more than {MOST_PROPERTIES} parameters, which strict mode refuses"));
    }
    Ok(Value::Object(closed))
}

struct Closing {
    /// The number of properties so far.
    properties: usize,
}

impl Closing {
    fn schema(&mut self, schema: Value, depth: usize) -> Value {
        let Value::Object(mut map) = schema else { return anything() };
        gather_in_object(&mut map);
        if let Some(Value::Array(branches)) = map.remove("anyOf") {
            let mut closed = Vec::new();
            for branch in branches {
                add_branch(&mut closed, self.schema(branch, depth));
            }
            let nullable = map.get("nullable") == Some(&Value::Bool(true));
            let union = Value::Object(union(map, closed));
            return if nullable { or_null(union) } else { union };
        }
        let nullable = map.remove("nullable") == Some(Value::Bool(true));
        let mut types = types_told(&map);
        // Where null is allowed it is one of the types, and of the options if there are any.
        let options = map.get_mut("enum").and_then(Value::as_array_mut);
        if let Some(options) = options.filter(|options| nullable && !options.contains(&Value::Null)) {
            options.push(Value::Null);
        }
        if nullable && !types.is_empty() && !types.iter().any(|name| name == "null") {
            types.push("null".into());
        }
        let complex = |name: &String| name == "object" || name == "array";
        match types.as_slice() {
            [] => {
                let has_options = map.contains_key("enum");
                let mut map = scalar(map, json!(["string", "number", "boolean", "null"]));
                if !has_options {
                    add_words(&mut map, OTHERS);
                }
                Value::Object(map)
            }
            [one] => Value::Object(self.typed(map, one, depth)),
            several if several.iter().any(complex) => {
                let mut branches = Vec::new();
                for name in several {
                    let branch = match name.as_str() {
                        "null" => json!({"type": "null"}),
                        name => Value::Object(self.typed(map.clone(), name, depth)),
                    };
                    add_branch(&mut branches, branch);
                }
                json!({"anyOf": branches})
            }
            several => Value::Object(scalar(map, json!(several))),
        }
    }

    fn typed(&mut self, mut map: Map<String, Value>, name: &str, depth: usize) -> Map<String, Value> {
        let is_filled = map.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        match name {
            "object" if is_filled && depth < DEEPEST => self.object(map, depth + 1),
            "object" => as_text(map, "string", "a JSON object, as text"),
            "array" if depth >= DEEPEST => as_text(map, "string", "a JSON array, as text"),
            "array" => {
                if let Some(by_place) = map.get("prefixItems").and_then(Value::as_array) {
                    map.insert("minItems".into(), json!(by_place.len()));
                }
                let item = self.schema(item_of(&mut map, json!({})), depth + 1);
                for key in ["properties", "required"] {
                    map.remove(key);
                }
                let mut map = simple(map, json!("array"));
                map.insert("items".into(), item);
                map
            }
            other => scalar(map, json!(other)),
        }
    }

    fn object(&mut self, mut map: Map<String, Value>, depth: usize) -> Map<String, Value> {
        let required: Vec<Value> = match map.remove("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        let mut properties = Map::new();
        if let Some(Value::Object(given)) = map.remove("properties") {
            for (name, schema) in given {
                self.properties += 1;
                let is_required = required.iter().any(|one| one.as_str() == Some(&name));
                let closed = self.schema(schema, depth);
                properties.insert(name, if is_required { closed } else { or_null(closed) });
            }
        }
        map.remove("additionalProperties");
        map.remove("items");
        let mut map = simple(map, json!("object"));
        let names = properties.keys().map(|name| json!(name)).collect();
        map.insert("properties".into(), Value::Object(properties));
        map.insert("required".into(), Value::Array(names));
        map.insert("additionalProperties".into(), Value::Bool(false));
        map
    }
}

fn scalar(mut map: Map<String, Value>, types: Value) -> Map<String, Value> {
    for key in ["properties", "required", "items", "prefixItems"] {
        map.remove(key);
    }
    simple(map, types)
}

/// Keeps the keywords that strict mode supports; the others go into the description.
fn simple(mut map: Map<String, Value>, types: Value) -> Map<String, Value> {
    map.insert("type".into(), types.clone());
    let types = types_in(Some(&types));
    put_into_words(&mut map, |key, value| {
        let is_kept = match key {
            "format" => types.contains(&"string") && value.as_str().is_some_and(|it| FORMATS.contains(&it)),
            "enum" => value.as_array().is_some_and(|all| {
                all.len() <= MOST_OPTIONS && !all.iter().any(|one| one.is_object() || one.is_array())
            }),
            _ => may_limit(key, value, &types),
        };
        is_kept && has_word(KEPT, key)
    });
    map
}

fn anything() -> Value {
    json!({"type": ["string", "number", "boolean", "null"], "description": OTHERS})
}

/// A union keeps only its description and its branches.
fn union(mut map: Map<String, Value>, branches: Vec<Value>) -> Map<String, Value> {
    for key in ["type", "properties", "required", "items", "prefixItems"] {
        map.remove(key);
    }
    put_into_words(&mut map, |key, _| key == "description" || key == "title");
    map.insert("anyOf".into(), Value::Array(branches));
    map
}

/// Adds a branch to a union, unless it is there already. A union inside a union is part of it.
fn add_branch(union: &mut Vec<Value>, branch: Value) {
    match branch {
        Value::Object(mut map) if map.len() == 1 && map.get("anyOf").is_some_and(Value::is_array) => {
            let Some(Value::Array(inner)) = map.remove("anyOf") else { return };
            inner.into_iter().for_each(|one| add_branch(union, one));
        }
        other if union.contains(&other) => {}
        other => union.push(other),
    }
}

fn takes_null(schema: &Value) -> bool {
    match (schema.get("type"), schema.get("anyOf")) {
        (kind @ Some(_), _) => types_in(kind).contains(&"null"),
        (None, Some(Value::Array(branches))) => branches.iter().any(takes_null),
        (None, _) => false,
    }
}

fn or_null(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    let null = json!("null");
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        if !branches.iter().any(takes_null) {
            branches.push(json!({"type": "null"}));
        }
        return Value::Object(map);
    }
    if matches!(map.get("type").and_then(Value::as_str), Some("object" | "array")) {
        let description = map.remove("description");
        let mut out = Map::new();
        out.extend(description.map(|text| ("description".to_owned(), text)));
        out.insert("anyOf".into(), json!([map, {"type": "null"}]));
        return Value::Object(out);
    }
    if let Some(Value::Array(options)) = map.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    let types = match map.remove("type") {
        Some(Value::Array(several)) => several,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let with_null = if types.contains(&null) { types } else { [types, vec![null]].concat() };
    map.insert("type".into(), Value::Array(with_null));
    Value::Object(map)
}
