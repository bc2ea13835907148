//! What holds for any schema and any value.

use super::{arguments, checked};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub::model::CheckOptions;
use toolhub::schema::ArgumentSchema;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |n| n.is_finite()).prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "5",
            "5.0",
            "-0",
            "1e3",
            "true",
            "FALSE",
            "null",
            "None",
            "a",
            " A",
            "[1, \"2\"]",
            "{\"a\": \"5\"}",
            "[\"{}\"]",
            "99999999999999999999",
            "a, b",
            "in progress",
        ])
        .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["integer", "number", "string", "boolean", "null", "array", "object"])
            .prop_map(|name| json!({"type": name})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"type": ["boolean", "string"]})),
        Just(json!({"enum": ["a", "b", 5, true]})),
        Just(json!({"const": "in_progress"})),
        Just(json!({"type": "integer", "minimum": 3, "maximum": 7})),
        Just(json!({"type": "string", "minLength": 2})),
        Just(json!({"$ref": "#"})),
        Just(json!({})),
        Just(json!(false)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|rest| json!({"type": "object", "additionalProperties": rest})),
            several.clone().prop_map(|places| json!({"prefixItems": places})),
            (inner.clone(), inner.clone()).prop_map(
                |(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]})
            ),
            several.clone().prop_map(|branches| json!({"anyOf": branches})),
            several.clone().prop_map(|branches| json!({"oneOf": branches})),
            several.prop_map(|branches| json!({"allOf": branches})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    })
}

/// What a call with one argument, `a`, comes to.
fn call(schema: &Value, value: &Value, coerce: bool) -> Result<Value, String> {
    let schema = json!({"properties": {"a": schema}, "required": ["a"]});
    checked(&schema, json!({"a": value}), coerce).map(|args| args["a"].clone())
}

/// The validator without anything of ours.
fn fits(schema: &Value, value: &Value) -> bool {
    let schema = json!({"properties": {"a": schema}, "required": ["a"]});
    jsonschema::validator_for(&schema).unwrap().is_valid(&json!({"a": value}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_fits_stays_and_what_is_mended_fits_and_stays(schema in schemas(), value in values()) {
        match call(&schema, &value, true) {
            Ok(got) => {
                // A schema that refers to itself in place checks nothing.
                if call(&schema, &value, false).is_ok() {
                    prop_assert_eq!(got.to_string(), value.to_string());
                } else {
                    prop_assert!(fits(&schema, &got), "{} became {}", value, got);
                    prop_assert_eq!(call(&schema, &got, false), Ok(got));
                }
            }
            Err(message) => {
                prop_assert!(!fits(&schema, &value));
                prop_assert!(message.chars().count() < 3000 && !message.contains('\n'), "{}", message);
            }
        }
    }

    #[test]
    fn without_coercion_only_the_validator_decides(schema in schemas(), value in values()) {
        let expected = jsonschema::validator_for(&json!({"properties": {"a": schema}})).unwrap();
        let args = arguments(json!({"a": value}));
        let result = ArgumentSchema::new(Arc::new(json!({"properties": {"a": schema}}))).check("t", &args, &CheckOptions::here(false));
        if let Ok(changed) = &result {
            prop_assert!(changed.replacement.is_none());
        }
        // `{"$ref": "#"}` steps into the arguments, so it always ends.
        prop_assert_eq!(result.is_ok(), expected.is_valid(args.as_value()));
    }

    #[test]
    fn text_for_a_number_is_the_number(number in any::<i64>(), share in any::<f64>()) {
        prop_assert_eq!(call(&json!({"type": "integer"}), &json!(number.to_string()), true), Ok(json!(number)));
        if share.is_finite() {
            prop_assert_eq!(call(&json!({"type": "number"}), &json!(json!(share).to_string()), true), Ok(json!(share)));
        }
    }

    #[test]
    fn json_text_is_what_it_holds(value in values()) {
        let kind = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            _ => return Ok(()),
        };
        prop_assert_eq!(call(&json!({"type": kind}), &json!(value.to_string()), true), Ok(value));
    }
}
