//! JSON Schemas from anywhere: each compiles, each check ends, and what fits once fits again.

use super::{INPUTS, value_of};
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub::model::CheckOptions;
use toolhub::schema::{ArgumentSchema, Schema};

const TYPES: &[&str] = &["integer", "number", "string", "boolean", "null", "array", "object", "any", "date"];
const PATTERNS: &[&str] = &["^a", "(a+)+$", "(?=a)b", "(?<!x)y", "[", "\\p{L}+", "^(a|a)*$", "\\1", "(.)\\1"];
const REFERENCES: &[&str] =
    &["#", "#/$defs/a", "#/$defs/b", "#/nowhere", "https://example.com/s", "#/anyOf/0", "%"];

fn schema_of(bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Value {
    let mut schema = serde_json::Map::new();
    for _ in 0..bytes.next().unwrap_or(0) % 4 {
        let mut pick = |list: &[&str]| list[usize::from(bytes.next().unwrap_or(0)) % list.len()].to_owned();
        let keyword = pick(&[
            "type",
            "enum",
            "const",
            "pattern",
            "$ref",
            "minLength",
            "maximum",
            "required",
            "format",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "not",
            "if",
            "$defs",
            "patternProperties",
            "additionalProperties",
            "uniqueItems",
            "prefixItems",
            "dependentSchemas",
            "unevaluatedProperties",
            "contains",
            "propertyNames",
            "default",
        ]);
        let value = match &*keyword {
            "type" => json!(pick(TYPES)),
            "pattern" => json!(pick(PATTERNS)),
            "$ref" => json!(pick(REFERENCES)),
            "format" => json!(pick(&["date-time", "email", "uri", "uuid", "nothing"])),
            "minLength" | "maximum" | "const" | "default" | "uniqueItems" => value_of(bytes, 2),
            "enum" => json!([value_of(bytes, 2), value_of(bytes, 1)]),
            "required" => json!([pick(&["a", "b", "名"])]),
            // Sometimes a value that is not a schema.
            _ if depth == 0 => value_of(bytes, 1),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                json!([schema_of(bytes, depth - 1), schema_of(bytes, depth - 1)])
            }
            "properties" | "$defs" | "dependentSchemas" => {
                json!({"a": schema_of(bytes, depth - 1), "b": schema_of(bytes, depth - 1)})
            }
            "patternProperties" => json!({pick(PATTERNS): schema_of(bytes, depth - 1)}),
            _ => schema_of(bytes, depth - 1),
        };
        schema.insert(keyword, value);
    }
    Value::Object(schema)
}

#[test]
fn any_schema_is_compiled_and_every_check_ends() {
    bolero::check!().with_type::<(Vec<u8>, Vec<u8>)>().with_iterations(INPUTS).for_each(|(schema, value)| {
        let schema = Arc::new(schema_of(&mut schema.iter().copied(), 4));
        let value = value_of(&mut value.iter().copied(), 4);
        let (checks, plain) = (ArgumentSchema::new(schema.clone()), CheckOptions::here(false));
        let first = checks.check_value("t", &value, &[], &plain);
        // The first check compiles; later ones take the quick way.
        assert_eq!(first.is_ok(), checks.check_value("t", &value, &[], &plain).is_ok(), "{schema}: {value}");
        match &first {
            Ok(fitting) => assert!(fitting.replacement.is_none(), "{schema}: {value}"),
            Err(error) => assert!(error.message.len() < 20_000, "{schema}: {value}: {}", error.message),
        }
        drop(Schema::new(schema.clone()).violations(&value));
        let Ok(fitting) = checks.check_value("t", &value, &[], &CheckOptions::here(true)) else {
            assert!(first.is_err(), "coercion refuses what fits: {schema}: {value}");
            return;
        };
        if let Some(coerced) = fitting.replacement {
            let again = checks.check_value("t", &coerced, &[], &CheckOptions::here(true));
            assert!(
                again.is_ok_and(|again| again.replacement.is_none()),
                "{schema}: {value} became {coerced}"
            );
        }
    });
}

/// Unions below unions multiply: they are counted before a check begins, whatever the depth.
#[test]
fn nested_unions_end() {
    bolero::check!().with_type::<(u8, u8)>().with_iterations(20).for_each(|(depth, width)| {
        let mut schema = json!({"type": "integer"});
        for _ in 0..depth % 24 {
            schema = json!({"anyOf": vec![json!({"properties": {"a": schema}, "required": ["a"]}); usize::from(width % 3) + 2]});
            if schema.to_string().len() > 100_000 {
                break;
            }
        }
        let mut value = json!("x");
        for _ in 0..depth % 24 {
            value = json!({"a": value});
        }
        let checks = ArgumentSchema::new(Arc::new(schema));
        drop(checks.check_value("t", &value, &[], &CheckOptions::here(true)));
    });
}
