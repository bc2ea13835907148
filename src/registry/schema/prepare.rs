//! What many servers write into their schemas and the validator does not take: `nullable: true` of OpenAPI, a keyword that JSON
//! Schema does not have, and references with letters that an address must not have.

use super::references::REFERENCES;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What these hold is data, not a schema.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// What these hold are schemas by name. A name may be that of a keyword.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The schema with null among the types wherever it is nullable, and with encoded references.
pub fn prepared(schema: &Arc<Value>) -> Arc<Value> {
    let mut mended = Value::clone(schema);
    mend(&mut mended);
    if mended == **schema { schema.clone() } else { Arc::new(mended) }
}

/// Whether a byte of a reference may stand in an address as it is.
fn stays(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

fn mend(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values_mut().for_each(mend)
                    }
                    value => mend(value),
                }
            }
            for reference in REFERENCES {
                if let Some(Value::String(reference)) = map.get_mut(reference) {
                    *reference = encoded(reference);
                }
            }
            if map.get("nullable") == Some(&Value::Bool(true)) {
                allow_null(map);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mend),
        _ => {}
    }
}

fn encoded(reference: &str) -> String {
    let letters = reference.bytes().map(|byte| match stays(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    letters.collect()
}

fn allow_null(map: &mut Map<String, Value>) {
    // What these say about null is not seen here: null is allowed beside the whole.
    if ["$ref", "allOf", "anyOf", "oneOf", "const"].iter().any(|key| map.contains_key(*key)) {
        let mut whole = std::mem::take(map);
        // These count for the whole document, or references lead to them by their place.
        for key in ["$schema", "$id", "$defs", "definitions"] {
            map.extend(whole.remove(key).map(|inner| (key.to_owned(), inner)));
        }
        map.insert("anyOf".into(), json!([whole, {"type": "null"}]));
        return;
    }
    match map.get_mut("type") {
        Some(Value::Array(several)) if !several.contains(&"null".into()) => several.push("null".into()),
        Some(kind @ Value::String(_)) => *kind = Value::Array(vec![kind.take(), "null".into()]),
        _ => {}
    }
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nullable_may_be_null() {
        let schema = Arc::new(json!({"properties": {
            "a": {"type": "string", "nullable": true},
            "b": {"type": "string", "enum": ["x"], "nullable": true},
            "c": {"type": "string", "default": {"type": "x", "nullable": true}},
            "d": {"type": ["string", "integer"], "nullable": true},
            "e": {"$ref": "#/$defs/E", "nullable": true},
            "f": {"oneOf": [{"type": "string"}], "nullable": true},
            "nullable": {"type": "integer"},
        }}));
        let expected = json!({"properties": {
            "a": {"type": ["string", "null"], "nullable": true},
            "b": {"type": ["string", "null"], "enum": ["x", null], "nullable": true},
            "c": {"type": "string", "default": {"type": "x", "nullable": true}},
            "d": {"type": ["string", "integer", "null"], "nullable": true},
            "e": {"anyOf": [{"$ref": "#/$defs/E", "nullable": true}, {"type": "null"}]},
            "f": {"anyOf": [{"oneOf": [{"type": "string"}], "nullable": true}, {"type": "null"}]},
            "nullable": {"type": "integer"},
        }});
        assert_eq!(*prepared(&schema), expected);
        let plain = Arc::new(json!({"properties": {"nullable": {}}}));
        assert!(Arc::ptr_eq(&prepared(&plain), &plain));
    }

    #[test]
    fn names_of_properties_are_no_keywords() {
        let schema = Arc::new(json!({"properties": {"nullable": true, "type": {"type": "string"}}}));
        assert!(Arc::ptr_eq(&prepared(&schema), &schema));
        let default = Arc::new(
            json!({"properties": {"default": {"type": "string", "nullable": true}, "nullable": true}}),
        );
        let expected = json!({"properties": {
            "default": {"type": ["string", "null"], "nullable": true},
            "nullable": true,
        }});
        assert_eq!(*prepared(&default), expected);
    }
}
