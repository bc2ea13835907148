//! Values that a dialect writes as plain text, converted by the schema of the tool.
//!
//! Without a schema a value stays a string, unless it is a JSON object or list. With a schema, a value that fits none of its
//! types stays a string too: validation reports it better.

use serde_json::{Number, Value};

use super::lenient::{self, MissingClosers};
use super::notation::Notation;

/// The value of a text by its schema.
pub(super) fn typed(text: &str, schema: Option<&Value>) -> Value {
    let Some(types) = schema.map(types).filter(|types| !types.is_empty()) else {
        return structure(text).unwrap_or_else(|| text.into());
    };
    let plain = text.trim();
    let fits = |kind: &&str| match standard(&kind.to_ascii_lowercase()) {
        "null" => matches!(plain, "null" | "None" | "nil").then_some(Value::Null),
        "boolean" => match plain.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => plain.parse::<Number>().ok().filter(|n| !n.is_f64()).map(Value::Number),
        "number" => plain.parse::<Number>().ok().map(Value::Number),
        "object" => structure(text).filter(Value::is_object),
        "array" => structure(text).filter(Value::is_array),
        _ => None,
    };
    // Every text fits the type string, so it comes last.
    types.iter().find_map(fits).unwrap_or_else(|| text.into())
}

/// The name of a type in JSON Schema. Gemini writes types in capitals, and tools name those of programming languages.
fn standard(kind: &str) -> &str {
    match kind {
        "bool" => "boolean",
        "float" | "double" | "decimal" => "number",
        "dict" | "map" | "mapping" => "object",
        "list" | "tuple" | "set" => "array",
        "none" | "nonetype" => "null",
        "int" | "long" | "short" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16"
        | "uint32" | "uint64" => "integer",
        other => other,
    }
}

/// A value that the dialect itself says is JSON.
pub(super) fn json(text: &str) -> Value {
    whole(text.trim()).unwrap_or_else(|| text.into())
}

fn structure(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    whole(text)
}

/// The value of a text that is JSON to its end.
fn whole(text: &str) -> Option<Value> {
    let reading = lenient::read(text, Notation::Json, MissingClosers::NONE).ok()?;
    reading.whole.then_some(reading.value)
}

/// The types that a schema allows; empty if it does not restrict them.
fn types(schema: &Value) -> Vec<&str> {
    let mut found: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for key in ["anyOf", "oneOf", "allOf"] {
        for option in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            found.extend(types(option));
        }
    }
    if found.is_empty() {
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        found.extend(values.chain(schema.get("const")).map(|value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_schema_decides_the_type() {
        let cases = [
            ("0123", json!({"type": "string"}), json!("0123")),
            ("[1]", json!({"type": "string"}), json!("[1]")),
            (" 5 ", json!({"type": "integer"}), json!(5)),
            ("five", json!({"type": "integer"}), json!("five")),
            ("True", json!({"type": "boolean"}), json!(true)),
            ("None", json!({"type": ["string", "null"]}), json!(null)),
            ("x", json!({"type": ["string", "null"]}), json!("x")),
            ("2.5", json!({"anyOf": [{"type": "number"}, {"type": "string"}]}), json!(2.5)),
            ("{'a': 1}", json!({"type": "object"}), json!({"a": 1})),
            ("2", json!({"enum": [1, 2]}), json!(2)),
            ("2", json!({"type": "INTEGER"}), json!(2)),
            ("2.5", json!({"type": "float"}), json!(2.5)),
            ("2", json!({"type": "int"}), json!(2)),
            ("{\"a\": 1}", json!({"type": "dict"}), json!({"a": 1})),
            ("2", json!({"type": "str"}), json!("2")),
        ];
        for (text, schema, value) in cases {
            assert_eq!(typed(text, Some(&schema)), value, "{text} by {schema}");
        }
        assert_eq!(typed("5", None), json!("5"));
        assert_eq!(typed(r#"{"a": 5}"#, None), json!({"a": 5}));
    }
}
