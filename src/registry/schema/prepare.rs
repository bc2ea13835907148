//! What many servers write into their schemas and the validator does not take: `nullable: true` of OpenAPI, a keyword that JSON
//! Schema does not have, and references with letters that an address must not have. And what is left of a schema that it cannot
//! take at all, or that may take too long.
//!
//! The plain rules of a schema: each looks at one value and refuses it by itself. A rule that is left out makes none of them
//! stricter.

use super::references::REFERENCES;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_text::has_word;

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

/// Puts null among the types wherever a schema is nullable, and encodes references.
pub fn mend(schema: &mut Value) {
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
        // These count for the whole document, or references lead to them by their place, or they are for readers.
        for key in ["$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples"] {
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

const PLAIN: &str = "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength \
    minItems maxItems minProperties maxProperties required dependentRequired";
/// In these drafts nothing counts beside a reference.
const REFERENCE_ALONE: [&str; 3] = ["draft-04", "draft-06", "draft-07"];

/// The plain rules of a schema, as far as each compiles by itself.
pub fn plain_rules(schema: &Value, compiles: &dyn Fn(&Value) -> bool) -> Value {
    let dialect = schema.get("$schema").filter(|dialect| compiles(&json!({"$schema": dialect})));
    let name = dialect.and_then(Value::as_str).unwrap_or_default();
    let with_dialect = |mut rules: Map<String, Value>| {
        rules.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect.clone())));
        Value::Object(rules)
    };
    let reference_is_alone = REFERENCE_ALONE.iter().any(|draft| name.contains(draft));
    let compiles = |keyword: &str, value: &Value| {
        compiles(&with_dialect(Map::from_iter([(keyword.to_owned(), value.clone())])))
    };
    match rules(schema, reference_is_alone, &compiles) {
        Value::Object(rules) => with_dialect(rules),
        rules => rules,
    }
}

fn rules(schema: &Value, reference_is_alone: bool, compiles: &dyn Fn(&str, &Value) -> bool) -> Value {
    let Value::Object(map) = schema else { return Value::Bool(*schema != Value::Bool(false)) };
    if reference_is_alone && map.contains_key("$ref") {
        return Value::Bool(true);
    }
    let names_are_known = map.get("properties").is_none_or(Value::is_object);
    let inside = |inner: &Value| rules(inner, reference_is_alone, compiles);
    let mut kept = Map::new();
    for (keyword, value) in map {
        let is_schema = value.is_object() || value.is_boolean();
        let rule = match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => {
                named.iter().map(|(name, inner)| (name.clone(), inside(inner))).collect()
            }
            ("allOf", Value::Array(parts)) if !parts.is_empty() => parts.iter().map(inside).collect(),
            // The items after those of a tuple, and what no pattern names.
            ("items", inner) if is_schema && !map.contains_key("prefixItems") => inside(inner),
            ("additionalProperties", inner)
                if is_schema && names_are_known && !map.contains_key("patternProperties") =>
            {
                inside(inner)
            }
            (keyword, value) if has_word(PLAIN, keyword) && compiles(keyword, value) => value.clone(),
            _ => continue,
        };
        kept.insert(keyword.clone(), rule);
    }
    Value::Object(kept)
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
