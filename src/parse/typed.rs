//! Values that a dialect writes as plain text, converted by the schema of the tool.
//!
//! Without a schema a value stays a string, unless it is a JSON object or list. With a schema, a value that fits none of its
//! types stays a string too: validation reports it better.

use serde_json::{Number, Value};

use super::lenient::{self, MissingClosers, Notation};
use super::schemas::SchemaView;

/// The value of a text by its schema. `is_text`: its own tag declares it to be a string or JSON, of which a schema may know better.
pub(super) fn typed(text: &str, is_text: Option<bool>, schema: Option<SchemaView<'_>>) -> Value {
    if let Some(is_text) = is_text {
        let json = if is_text { None } else { whole(text.trim()) };
        let value = json.unwrap_or_else(|| text.into());
        return match schema {
            // `5` where a string is due: as it was written.
            Some(schema) if is_scalar(&value) && schema.types() == ["string"] => text.trim().into(),
            _ => by_schema(value, schema),
        };
    }
    let Some(types) = schema.map(SchemaView::types).filter(|types| !types.is_empty()) else {
        return structure(text).unwrap_or_else(|| text.into());
    };
    fitting(text, &types).unwrap_or_else(|| text.into())
}

/// The value of a text by the first of the types that it fits. Every text fits the type string, so it comes last.
fn fitting(text: &str, types: &[&str]) -> Option<Value> {
    let plain = text.trim();
    types.iter().find_map(|kind| match *kind {
        "null" => matches!(plain, "null" | "None" | "nil").then_some(Value::Null),
        "boolean" => match plain.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => plain.parse::<Number>().ok().filter(|n| !n.is_f64()).map(Value::Number),
        "number" => plain.parse::<Number>().ok().map(Value::Number),
        "object" => container(text).filter(Value::is_object),
        "array" => container(text).filter(Value::is_array),
        _ => None,
    })
}

/// A value whose quotes contradict the schema: `"5"` where a number is due, `5` where a string is due.
pub(super) fn by_schema(value: Value, schema: Option<SchemaView<'_>>) -> Value {
    let types = schema.map(SchemaView::types).unwrap_or_default();
    match value {
        Value::String(text) if !types.iter().any(|kind| matches!(*kind, "string" | "any")) => {
            let fits = fitting(&text, &types).or_else(|| fitting(&without_zeros(&text)?, &types));
            fits.unwrap_or(Value::String(text))
        }
        value if is_scalar(&value) && types == ["string"] => value.to_string().into(),
        value => value,
    }
}

/// A number with leading zeros as JSON has it: `-007` is `-7`.
fn without_zeros(text: &str) -> Option<String> {
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.starts_with(|letter: char| letter.is_ascii_digit()) { "" } else { "0" };
    lenient::has_leading_zero(text).then(|| [sign, zero, kept].concat())
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Bool(_))
}

/// An object or a list where the schema wants one: its quotes may be escaped, or all of it may be in a string.
fn container(text: &str) -> Option<Value> {
    let text = text.trim();
    structure(text).or_else(|| {
        let inside = match text.starts_with('"') {
            true => serde_json::from_str::<String>(text).ok()?,
            false if text.contains("\\\"") => serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?,
            false => return None,
        };
        structure(&inside)
    })
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
            ("{\\\"a\\\": 1}", json!({"type": "object"}), json!({"a": 1})),
            ("\"[1]\"", json!({"type": "array"}), json!([1])),
            ("2", json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}), json!(2)),
            ("2", json!({"$ref": "#"}), json!("2")),
        ];
        for (text, schema, value) in cases {
            assert_eq!(typed(text, None, Some(SchemaView::new(&schema))), value, "{text} by {schema}");
        }
        assert_eq!(typed("5", None, None), json!("5"));
        assert_eq!(typed(r#"{"a": 5}"#, None, None), json!({"a": 5}));
    }
}
