//! Each kind of violation has its words.

use super::{arguments, checked, one};
use serde_json::{Value, json};
use toolhub::schema::unknown_arguments;

/// What is violation about `it`.
fn violation(schema: Value, value: Value) -> String {
    one(schema, value).expect_err("must be refused")
}

#[test]
fn every_keyword_has_its_words() {
    let cases = [
        (json!({"type": "integer"}), json!("old"), "it: expected an integer, got 'old' (string)"),
        (json!({"type": "integer"}), json!(1.5), "it: expected an integer, got 1.5 (number)"),
        (
            json!({"type": ["string", "null"]}),
            json!([]),
            "it: expected a string or null, got an array of 0 items",
        ),
        (json!({"type": "boolean"}), json!(1), "it: expected true or false, got 1 (integer)"),
        (json!({"type": "object"}), json!(true), "it: expected an object, got true (boolean)"),
        (json!({"type": "string"}), json!(null), "it: expected a string, got null"),
        (json!({"type": "string"}), json!({"a": 1}), "it: expected a string, got an object with 1 key"),
        (
            json!({"enum": ["a", "b", 3, null]}),
            json!("c"),
            "it: expected one of 'a', 'b', 3, null, got 'c' (string)",
        ),
        (json!({"const": "a"}), json!("c"), "it: expected 'a', got 'c' (string)"),
        (json!({"minimum": 3}), json!(2), "it: expected a value of at least 3, got 2 (integer)"),
        (json!({"maximum": 3}), json!(4), "it: expected a value of at most 3, got 4 (integer)"),
        (json!({"exclusiveMinimum": 0}), json!(0), "it: expected a value greater than 0, got 0 (integer)"),
        (json!({"exclusiveMaximum": 1}), json!(1.0), "it: expected a value less than 1, got 1.0 (number)"),
        (json!({"multipleOf": 5}), json!(4), "it: expected a multiple of 5, got 4 (integer)"),
        (
            json!({"minLength": 2}),
            json!("a"),
            "it: expected a string of at least 2 characters, got 'a' (string)",
        ),
        (
            json!({"maxLength": 1}),
            json!("ab"),
            "it: expected a string of at most 1 character, got 'ab' (string)",
        ),
        (
            json!({"pattern": "^a+$"}),
            json!("b"),
            "it: expected a string that matches '^a+$', got 'b' (string)",
        ),
        (json!({"minItems": 1}), json!([]), "it: expected at least 1 item, got an array of 0 items"),
        (json!({"maxItems": 1}), json!([1, 2]), "it: expected at most 1 item, got an array of 2 items"),
        (
            json!({"prefixItems": [{}], "items": false}),
            json!([1, 2]),
            "it[1]: expected nothing, got 2 (integer)",
        ),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": false}),
            json!([1, 2]),
            "it: expected at most 1 item, got an array of 2 items",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "it: expected an object with at least 1 key, got an object with 0 keys",
        ),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "it: expected an object with at most 1 key, got an object with 2 keys",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 1.0]),
            "it: expected items that all differ, got an array of 2 items",
        ),
        (
            json!({"contains": {"type": "integer"}}),
            json!(["a"]),
            "it: expected an array that holds an integer, got an array of 1 item",
        ),
        (
            json!({"not": {"type": "string"}}),
            json!("a"),
            "it: expected anything but a string, got 'a' (string)",
        ),
        (json!({"not": {}}), json!(1), "it: expected another value, got 1 (integer)"),
        (json!(false), json!(1), "it: expected nothing, got 1 (integer)"),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!({"A": 1}),
            "it: expected a string that matches '^[a-z]+$' as a key, got 'A' (string)",
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
            json!(1),
            "it: expected a value that fits only one of the choices (an integer or a number), got 1 (integer), \
             which fits several",
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("x"),
            "it: expected an integer or null, got 'x' (string)",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            "it.b: required argument is missing, expected a value",
        ),
    ];
    for (schema, value, words) in cases {
        assert_eq!(violation(schema.clone(), value), words, "{schema}");
    }
}

#[test]
fn old_drafts_have_the_same_words() {
    let draft7 = |schema: Value| {
        let all = json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"it": schema}});
        move |value: Value| checked(&all, json!({"it": value}), true).expect_err("must be refused")
    };
    let tuple = draft7(json!({"items": [{"type": "integer"}], "additionalItems": false}));
    assert_eq!(tuple(json!([1, 2])), "it: expected at most 1 item, got an array of 2 items");
    assert_eq!(tuple(json!(["x"])), "it[0]: expected an integer, got 'x' (string)");
    let encoded = draft7(json!({"contentEncoding": "base64", "contentMediaType": "application/json"}));
    assert_eq!(encoded(json!("{}")), "it: expected a string in the encoding 'base64', got '{}' (string)");
    let held = draft7(json!({"contentMediaType": "application/json"}));
    assert_eq!(held(json!("{")), "it: expected a string that holds 'application/json', got '{' (string)");
}

#[test]
fn formats_are_not_asserted_in_any_draft() {
    for draft in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"] {
        let schema = json!({"$schema": draft, "properties": {"it": {"format": "date"}}});
        assert!(checked(&schema, json!({"it": "tomorrow"}), true).is_ok(), "{draft}");
    }
}

#[test]
fn the_place_is_named_as_one_writes_it() {
    let schema = json!({"properties": {"rows": {"items": {"properties": {
        "age": {"type": "integer"}, "first name": {"type": "string"}}}}}});
    let wrong = json!({"rows": [{}, {"age": "old"}, {"first name": []}]});
    assert_eq!(
        checked(&schema, wrong, true).expect_err("must be refused"),
        "rows[1].age: expected an integer, got 'old' (string); \
         rows[2]['first name']: expected a string, got an array of 0 items"
    );
}

#[test]
fn a_missing_argument_says_what_is_wanted_and_what_was_given_instead() {
    let schema = |more: Value| {
        let mut schema = json!({"properties": {"filepath": {"$ref": "#/$defs/path"}, "lines": {"type": "integer"}},
            "required": ["filepath"], "$defs": {"path": {"type": "string"}}});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let open = schema(json!({}));
    assert_eq!(
        checked(&open, json!({"lines": 1}), true).unwrap_err(),
        "filepath: required argument is missing, expected a string"
    );
    assert_eq!(
        checked(&open, json!({"filepaht": "a"}), true).unwrap_err(),
        "filepath: required argument is missing, expected a string (was 'filepaht' meant for it?)"
    );
    // Names that are allowed, if unknown, pass: the server may know them.
    assert!(checked(&open, json!({"filepath": "a", "line": 1}), true).is_ok());
    let closed = schema(json!({"additionalProperties": false}));
    let message = checked(&closed, json!({"filepaht": "a", "zzz": 1}), true).unwrap_err();
    for part in [
        "filepath: required argument is missing, expected a string",
        "filepaht: unknown argument (did you mean 'filepath'? expected only filepath, lines)",
        "zzz: unknown argument (expected only filepath, lines)",
    ] {
        assert!(message.split("; ").any(|one| one == part), "{part} in {message}");
    }
}

#[test]
fn unknown_names_are_reported_wherever_they_are_forbidden() {
    let nothing = json!({"type": "object", "additionalProperties": false});
    assert_eq!(
        checked(&nothing, json!({"a": 1}), true).unwrap_err(),
        "a: unknown argument (expected no arguments)"
    );
    let inherited = json!({"allOf": [{"$ref": "#/$defs/base"}], "properties": {"size": {}},
        "unevaluatedProperties": false, "$defs": {"base": {"properties": {"colour": {}}}}});
    assert_eq!(
        checked(&inherited, json!({"color": 1, "size": 2}), true).unwrap_err(),
        "color: unknown argument (did you mean 'colour'? expected only size, colour)"
    );
}

#[test]
fn of_a_union_the_matching_branch_is_reported() {
    let shapes = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
            "required": ["kind", "side"]},
        {"type": "null"}]});
    assert_eq!(
        violation(shapes.clone(), json!({"kind": "square"})),
        "it.side: required argument is missing, expected a number"
    );
    assert_eq!(
        violation(shapes.clone(), json!({"kind": "circle", "radius": "wide"})),
        "it.radius: expected a number, got 'wide' (string)"
    );
    assert_eq!(violation(shapes, json!(5)), "it: expected an object or null, got 5 (integer)");
}

#[test]
fn at_most_five_are_listed_and_the_rest_is_counted() {
    let names: Vec<String> = (0..9).map(|n| format!("n{n}")).collect();
    let schema = json!({"required": names});
    let message = checked(&schema, json!({}), true).unwrap_err();
    assert_eq!(message.matches("is missing").count(), 5);
    assert!(message.ends_with("; and 4 more"), "{message}");
}

#[test]
fn secrets_are_not_shown_and_long_values_are_cut() {
    for name in ["password", "api_key", "apiKey", "x-api-key", "access_token", "dbPassword", "client_secret"]
    {
        let schema = json!({"properties": {name: {"type": "string", "maxLength": 3}}});
        let message = checked(&schema, json!({name: "hunter2"}), true).unwrap_err();
        assert!(message.ends_with("got a string (hidden)"), "{message}");
    }
    let inside = json!({"properties": {"token": {"properties": {"value": {"maxLength": 3}}}}});
    assert!(!checked(&inside, json!({"token": {"value": "hunter2"}}), true).unwrap_err().contains("hunter2"));
    let marked = json!({"properties": {"pin": {"writeOnly": true, "maximum": 5}}});
    assert!(checked(&marked, json!({"pin": 1234}), true).unwrap_err().ends_with("got a number (hidden)"));
    let counted = json!({"properties": {"max_tokens": {"type": "integer"}}});
    assert!(checked(&counted, json!({"max_tokens": "many"}), true).unwrap_err().contains("'many'"));

    let long = violation(json!({"type": "integer"}), json!("é\n".repeat(5000)));
    assert_eq!(
        long,
        "it: expected an integer, got 'é\\né\\né\\né\\né\\né\\né\\né\\né\\né… (string of 10000 characters)"
    );
    let many: Vec<String> = (0..500).map(|n| format!("option {n}")).collect();
    assert!(violation(json!({"enum": many}), json!("x")).chars().count() < 300);
    assert!(violation(json!({"pattern": "a".repeat(5000)}), json!("x")).chars().count() < 300);
}

#[test]
fn what_a_model_wrote_is_shown_not_what_became_of_it() {
    assert_eq!(
        violation(json!({"type": "integer", "maximum": 100}), json!("500")),
        "it: expected a value of at most 100, got '500' (string)"
    );
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    assert_eq!(
        checked(&schema, json!({"a": "5", "b": "x"}), true).unwrap_err(),
        "b: expected an integer, got 'x' (string)"
    );
    assert_eq!(
        checked(&schema, json!({"a": "5", "b": "x"}), false).unwrap_err(),
        "a: expected an integer, got '5' (string); b: expected an integer, got 'x' (string)"
    );
    let inside = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!(violation(inside, json!("{\"n\": \"x\"}")), "it.n: expected an integer, got 'x' (string)");
}

#[test]
fn unknown_names_that_are_not_forbidden_are_reported_where_the_known_ones_are_certain() {
    let unknown = |schema: Value, args: Value| {
        unknown_arguments(&schema, arguments(args).iter().map(|(name, _)| name.as_str()))
    };
    let schema = json!({"properties": {"query": {}, "limit": {}}});
    assert_eq!(unknown(schema.clone(), json!({"query": 1, "limit": 2})), Vec::<String>::new());
    assert_eq!(
        unknown(schema.clone(), json!({"query": 1, "limt": 2, "zzz": 3})),
        [
            "limt: unknown argument, passed on unchanged (did you mean 'limit'? known: query, limit)",
            "zzz: unknown argument, passed on unchanged (known: query, limit)",
        ]
    );
    for (keyword, value) in [
        ("additionalProperties", json!(true)),
        ("patternProperties", json!({"^l": {}})),
        ("allOf", json!([{"properties": {"limt": {}}}])),
    ] {
        let mut open = schema.clone();
        open[keyword] = value;
        assert_eq!(unknown(open, json!({"limt": 2})), Vec::<String>::new(), "{keyword}");
    }
    assert_eq!(unknown(json!({"type": "object"}), json!({"limt": 2})), Vec::<String>::new());
}
