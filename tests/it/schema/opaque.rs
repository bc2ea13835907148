//! Objects without a JSON form inside arguments, and what their builder refuses.

use serde_json::{Value, json};
use std::sync::Arc;
use toolhub::model::CheckOptions;
use toolhub::schema::{ArgumentSchema, Objection, Opaque, PathStep, Reason};

fn schema() -> ArgumentSchema {
    ArgumentSchema::new(Arc::new(json!({
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "rows": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "date"}]}},
            "limit": {"type": "integer"},
            "password": {"type": "string", "format": "uuid"},
        },
        "required": ["day"],
        "additionalProperties": false,
    })))
}

fn opaque(place: &str) -> Opaque {
    Opaque { place: place.into(), shown: "a Python object of type Frame".into() }
}

fn checked(value: &Value, places: &[&str]) -> Result<Option<Value>, String> {
    let opaque: Vec<Opaque> = places.iter().map(|place| opaque(place)).collect();
    let fitting = schema().check_value("t", value, &opaque, &CheckOptions::here(true));
    fitting.map(|fitting| fitting.replacement).map_err(|error| error.message.into_owned())
}

#[test]
fn an_opaque_place_is_left_to_its_builder() {
    assert_eq!(checked(&json!({"day": null}), &["/day"]), Ok(None));
    assert_eq!(checked(&json!({"day": "x", "rows": [null, 5]}), &["/rows/0"]), Ok(None));
    assert!(checked(&json!({"day": null}), &[]).is_err());
}

#[test]
fn everything_else_is_checked_and_coerced() {
    let coerced = checked(&json!({"day": null, "limit": "5"}), &["/day"]);
    assert_eq!(coerced, Ok(Some(json!({"day": null, "limit": 5}))));
    let refused = checked(&json!({"day": null, "limit": "many", "odd": null}), &["/day", "/odd"]);
    let sentence = refused.unwrap_err();
    assert!(sentence.contains("limit: expected an integer, got 'many' (string)"), "{sentence}");
    assert!(sentence.contains("odd: unknown argument"), "{sentence}");
    assert!(!sentence.contains("day:"), "{sentence}");
}

#[test]
fn an_opaque_object_is_neither_wrapped_nor_left_out() {
    // `null` for an optional argument would be left out, and a single value for an array wrapped.
    assert_eq!(checked(&json!({"day": "x", "limit": null}), &["/limit"]), Ok(None));
    assert!(checked(&json!({"day": "x", "rows": {"a": null}}), &["/rows/a"]).is_err());
}

fn refused(path: &[&str], reason: Reason) -> String {
    let steps = path.iter().map(|step| match step.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Key((*step).into()),
    });
    let objection = Objection { path: steps.collect(), reason };
    let value = json!({"day": "soon", "rows": [1, null], "limit": 3, "password": "hunter2"});
    let error = schema().refusal("t", &value, &value, &[opaque("/rows/1")], &[objection]);
    let message = error.message.into_owned();
    message.trim_start_matches("Invalid arguments for 't': ").trim_end_matches('.').to_owned()
}

#[test]
fn what_a_builder_refuses_has_the_words_of_the_schema() {
    let wrong = || Reason::WrongFormat("a valid thing".into());
    assert_eq!(refused(&["day"], wrong()), "day: expected a date such as '2025-01-31', got 'soon' (string)");
    assert_eq!(refused(&["limit"], wrong()), "limit: expected a valid thing, got 3 (integer)");
    assert_eq!(refused(&["password"], wrong()), "password: expected a UUID, got a string (hidden)");
    // Labels of branches are not part of the arguments.
    assert_eq!(
        refused(&["rows", "1", "is-instance[date]"], wrong()),
        "rows[1]: expected a date such as '2025-01-31', got a Python object of type Frame"
    );
    let own = Reason::Sentence("the limit\nmust be even".into());
    assert_eq!(refused(&["limit"], own), "limit: the limit\\nmust be even, got 3 (integer)");
    let kind = Reason::WrongType("a valid integer".into());
    assert_eq!(refused(&["limit"], kind), "limit: expected an integer, got 3 (integer)");
    assert_eq!(refused(&["extra"], Reason::Missing), "extra: required argument is missing, expected a value");
}
