//! The way back: arguments as a vendor's API gives them, made into those that the tool's own schema means.

use super::super::schema::Shape;
use super::{gemini, inline, names};
use serde_json::{Map, Value};

/// Deeper arguments are left as they are.
const DEEPEST: usize = 12;

/// Gives parameters their own names again, and leaves out a null that only means "not given". Values that may be anything
/// are read from their JSON text, if they were asked for so (`as_text`).
pub fn restore(schema: &Value, arguments: &mut Map<String, Value>, as_text: bool) {
    let shape = Shape::of(schema, schema);
    let mut properties = shape.properties();
    for branch in shape.branches() {
        properties.extend(shape.below(schema, branch).properties());
    }
    let is_known = |key: &String| properties.iter().any(|(name, _)| name == key);
    let strange: Vec<String> = arguments.keys().filter(|key| !is_known(key)).cloned().collect();
    for key in strange {
        let own = properties
            .iter()
            .map(|(name, _)| *name)
            .find(|name| [".-", ""].into_iter().any(|also| names::key(name, also) == key));
        if let Some(own) = own.filter(|own| !arguments.contains_key(*own))
            && let Some(value) = arguments.remove(&key)
        {
            arguments.insert(own.to_owned(), value);
        }
    }
    omit(schema, &shape, arguments, 0);
    if let Some(tree) = as_text.then(|| inline::tree(schema).ok()).flatten() {
        let mut given = Value::Object(std::mem::take(arguments));
        gemini::read_any(&tree, &mut given);
        if let Value::Object(read) = given {
            *arguments = read;
        }
    }
}

fn omit<'a>(root: &'a Value, shape: &Shape<'a>, given: &mut Map<String, Value>, depth: usize) {
    for (name, schema) in shape.properties() {
        let inner = shape.below(root, schema);
        match given.get_mut(name) {
            Some(Value::Null) if !shape.requires(name) && !takes_null(root, &inner, 0) => {
                drop(given.remove(name))
            }
            Some(value) if depth < DEEPEST => omit_in(root, &inner, value, depth + 1),
            _ => {}
        }
    }
}

fn omit_in<'a>(root: &'a Value, shape: &Shape<'a>, value: &mut Value, depth: usize) {
    match value {
        Value::Object(map) if shape.branches().is_empty() => omit(root, shape, map, depth),
        Value::Array(items) => {
            let Some(item) = shape.item() else { return };
            let inner = shape.below(root, item);
            for value in items {
                if depth < DEEPEST {
                    omit_in(root, &inner, value, depth + 1);
                }
            }
        }
        _ => {}
    }
}

fn takes_null<'a>(root: &'a Value, shape: &Shape<'a>, depth: usize) -> bool {
    if depth >= DEEPEST || shape.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    if let Some(options) = shape.get("enum").and_then(Value::as_array) {
        return options.contains(&Value::Null);
    }
    if let Some(only) = shape.get("const") {
        return only.is_null();
    }
    let types = shape.types();
    if !types.is_empty() {
        return types.contains(&"null");
    }
    let branches = shape.branches();
    branches.is_empty() || branches.iter().any(|one| takes_null(root, &shape.below(root, one), depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_come_back_and_empty_ones_go() {
        let schema = json!({"type": "object", "required": ["filter[id]"], "properties": {
            "filter[id]": {"type": "string"}, "limit": {"type": "integer"}, "note": {"type": ["string", "null"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
        }});
        let mut given = json!({
            names::key("filter[id]", ".-"): "7", "limit": null, "note": null, "rows": [{"x": null}, {"x": 1}], "other": null
        });
        if let Some(given) = given.as_object_mut() {
            restore(&schema, given, false);
        }
        assert_eq!(given, json!({"filter[id]": "7", "note": null, "rows": [{}, {"x": 1}], "other": null}));
    }
}
