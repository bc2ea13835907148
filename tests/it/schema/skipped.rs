//! What is checked of a schema that cannot be compiled or may take too long, and what a result says of the rest.

use super::arguments;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolhub::model::CheckOptions;
use toolhub::schema::ArgumentSchema;

/// The sentences about rules that were not checked, or the refusal.
fn skipped(schema: &Value, args: Value) -> Result<Vec<String>, String> {
    let schema = ArgumentSchema::new(Arc::new(schema.clone()));
    let fitting = schema.check("t", &arguments(args), &CheckOptions::here(true));
    fitting
        .map(|fitting| fitting.unchecked.iter().map(ToString::to_string).collect())
        .map_err(|error| error.message.into_owned())
}

#[test]
fn a_reference_to_a_name_with_a_space_is_followed() {
    for name in ["a b", "größe", "x|y", "{id}"] {
        let schema = json!({"properties": {"a": {"$ref": format!("#/$defs/{name}")}, "b": {"type": "integer"}},
                            "$defs": {name: {"type": "string", "maxLength": 2}}});
        assert_eq!(skipped(&schema, json!({"a": "ok", "b": 1})), Ok(Vec::new()), "{name}");
        assert!(skipped(&schema, json!({"a": "long", "b": 1})).is_err(), "{name}");
        assert!(skipped(&schema, json!({"a": "ok", "b": "no"})).is_err(), "{name}");
    }
}

#[test]
fn a_list_of_schemas_is_checked_where_the_draft_has_it() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#",
                        "properties": {"a": {"items": [{"type": "string"}]}}});
    assert_eq!(skipped(&schema, json!({"a": ["x"]})), Ok(Vec::new()));
    assert!(skipped(&schema, json!({"a": [[5]]})).is_err());
}

#[test]
fn of_a_schema_that_cannot_be_compiled_the_plain_rules_are_checked() {
    let broken = [
        (json!({"type": "no such type"}), "/properties/a/type"),
        (json!({"type": ["string", "foo"]}), "/properties/a/type"),
        (json!({"pattern": "("}), "/properties/a/pattern"),
        (json!({"pattern": "(.{0,200}.{0,200}){0,20}q$"}), "/properties/a/pattern"),
        (json!({"minLength": "three"}), "/properties/a/minLength"),
        (json!({"anyOf": []}), "/properties/a/anyOf"),
        (json!({"properties": 5}), "/properties/a/properties"),
        (json!({"items": "text"}), "/properties/a/items"),
        (json!({"items": [{"type": "string"}], "additionalItems": false}), "/properties/a/items"),
        (json!(5), "/properties/a"),
        (json!({"patternProperties": {"(.{0,99}){999}": {}}}), "/properties/a/patternProperties"),
        (json!({"$ref": "#/$defs/nobody"}), ""),
        (json!({"$ref": "https://example.com/x.json"}), ""),
        (json!({"$ref": "file:///etc/passwd"}), ""),
        (json!({"$ref": "#/properties/a"}), ""),
        (json!({"$ref": "#/properties/%61"}), ""),
        (json!({"$ref": "#/properties/%zz"}), ""),
        (json!({"$ref": "#/properties/%ff"}), ""),
        (json!({"$ref": "#/%E4"}), ""),
        (json!({"$dynamicRef": "#/properties/%"}), ""),
        (json!({"dependencies": {"q": ["r", 5]}}), ""),
        (json!({"allOf": [{"$ref": "#/properties/a"}]}), ""),
    ];
    for (odd, place) in broken {
        let schema =
            json!({"properties": {"a": odd, "b": {"type": "integer", "maximum": 5}}, "required": ["b"]});
        let sentences = skipped(&schema, json!({"a": "x", "b": 5})).unwrap();
        assert!(
            matches!(sentences.as_slice(), [one] if one.starts_with(&format!("#{place}"))
                && one.contains(" is not checked: it")),
            "{odd}: {sentences:?}"
        );
        assert!(skipped(&schema, json!({"a": "x", "b": 6})).is_err(), "{schema}");
        assert!(skipped(&schema, json!({"a": "x"})).is_err(), "{schema}");
    }
}

#[test]
fn what_depends_on_a_skipped_rule_never_refuses_more() {
    for depending in [
        json!({"not": {"pattern": "("}}),
        json!({"oneOf": [{"pattern": "("}, {"type": "string"}]}),
        json!({"if": {"pattern": "("}, "then": {"type": "integer"}}),
        json!({"not": {"$ref": "#/$defs/odd"}}),
        json!({"if": {"$ref": "#/$defs/odd"}, "then": false}),
    ] {
        let schema = json!({"properties": {"a": depending}, "$defs": {"odd": {"pattern": "("}}});
        assert!(!skipped(&schema, json!({"a": "x"})).unwrap().is_empty(), "{schema}");
    }
    let names =
        json!({"patternProperties": {"(": {}, "^x": {"type": "integer"}}, "additionalProperties": false});
    assert!(skipped(&names, json!({"(": 1})).is_ok());
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "minItems": 1});
    let tuple = json!({"properties": {"a": tuple, "b": {"pattern": "("}}});
    assert!(skipped(&tuple, json!({"a": ["x", 1]})).is_ok());
    assert!(skipped(&tuple, json!({"a": []})).is_err());
    let alone = json!({"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"b": {}},
        "properties": {"a": {"$ref": "#/$defs/b", "type": "integer"}, "b": {"pattern": "("}}});
    assert!(skipped(&alone, json!({"a": "x"})).is_ok(), "nothing counts beside a reference there");
    let left = json!({"allOf": [{"$ref": "#/$defs/nobody"}], "unevaluatedProperties": false});
    assert!(skipped(&left, json!({"a": 1})).is_ok());
}

#[test]
fn look_around_and_back_references_are_checked() {
    let schema = json!({"properties": {
        "password": {"type": "string", "pattern": "^(?=.*[0-9])(?=.*[a-z]).{8,}$"},
        "tag": {"type": "string", "pattern": "^<(\\w+)>.*</\\1>$"},
    }});
    assert_eq!(skipped(&schema, json!({"password": "abcdefg1", "tag": "<b>x</b>"})), Ok(Vec::new()));
    assert!(skipped(&schema, json!({"password": "abcdefgh"})).is_err());
    assert!(skipped(&schema, json!({"tag": "<b>x</i>"})).is_err());
}

#[test]
fn a_pattern_that_takes_too_many_steps_is_given_up_and_reported() {
    let schema = json!({"properties": {
        "a": {"type": "string", "pattern": "^(?:(a+)\\1?)+b$"},
        "b": {"type": "integer"},
    }});
    let endless = "a".repeat(60);
    let sentences = skipped(&schema, json!({"a": endless})).unwrap();
    assert_eq!(
        sentences,
        ["#/properties/a/pattern is not checked: the pattern takes too many steps for this text"]
    );
    assert!(
        skipped(&schema, json!({"a": endless, "b": "many"})).unwrap_err().contains("b: expected an integer")
    );
    assert!(skipped(&schema, json!({"a": "no"})).is_err());
}

#[test]
fn a_reference_with_escapes_is_followed() {
    let schema =
        json!({"properties": {"a": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": {"type": "integer"}}});
    assert_eq!(skipped(&schema, json!({"a": 5})), Ok(Vec::new()));
    assert!(skipped(&schema, json!({"a": "x"})).is_err());
}

#[test]
fn a_large_pattern_is_checked_with_short_texts_only() {
    for pattern in ["(x?){900}q$", "[a-z]{0,200}[a-z]{0,200}[a-z]{0,200}q$"] {
        let schema = json!({"properties": {
            "a": {"type": "string", "pattern": pattern},
            "b": {"type": "integer"},
            "c": {"type": "string", "pattern": "^y"},
        }});
        assert_eq!(skipped(&schema, json!({"a": "xq"})), Ok(Vec::new()));
        assert!(skipped(&schema, json!({"a": "x"})).is_err());
        let long = "x".repeat(100_000);
        let sentences = skipped(&schema, json!({"a": long})).unwrap();
        assert!(matches!(sentences.as_slice(), [one] if one.contains("may take too long")), "{sentences:?}");
        assert!(skipped(&schema, json!({"a": long, "b": "many"})).is_err());
        assert!(skipped(&schema, json!({"a": "xq", "c": "x"})).is_err());
    }
}

/// A union of 60 levels, each of which leads to the next one twice.
fn costly() -> Value {
    let mut defs = Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"anyOf": [next, next]}));
    }
    defs.insert("d60".into(), json!({"type": "integer"}));
    json!({"properties": {"a": {"$ref": "#/$defs/d0"}, "b": {"type": "integer"}}, "required": ["b"], "$defs": defs})
}

#[test]
fn a_schema_above_the_bound_is_checked_as_far_as_it_goes() {
    let sentences = skipped(&costly(), json!({"a": "x", "b": 1})).unwrap();
    assert!(matches!(sentences.as_slice(), [one] if one.contains("may take too long")), "{sentences:?}");
    assert!(
        skipped(&costly(), json!({"a": "x", "b": "many"})).unwrap_err().contains("b: expected an integer")
    );
    assert!(skipped(&costly(), json!({"a": "x"})).unwrap_err().contains("b: required argument is missing"));
}

#[test]
fn a_long_check_runs_aside() {
    let runs = AtomicUsize::new(0);
    let aside = |work: &mut (dyn FnMut() + Send)| {
        runs.fetch_add(1, Ordering::Relaxed);
        work();
    };
    let options = CheckOptions { coerce: true, offload: &aside };
    let schema =
        ArgumentSchema::new(Arc::new(json!({"additionalProperties": {"items": {"type": "integer"}}})));
    for (small, large) in [(json!([1]), json!(vec![1; 60_000])), (json!(["1"]), json!(vec!["1"; 60_000]))] {
        schema.check("t", &arguments(json!({"b": small})), &options).unwrap();
        let before = runs.swap(0, Ordering::Relaxed);
        assert_eq!(before, 0, "a short check runs where it is");
        schema.check("t", &arguments(json!({"b": large})), &options).unwrap();
        assert_eq!(runs.swap(0, Ordering::Relaxed), 1);
    }
}

#[test]
fn unions_of_ten_thousand_branches_over_many_items_end() {
    let branches: Vec<Value> =
        (0..10_000).map(|n| json!({"type": "object", "required": [format!("k{n}")]})).collect();
    let schema = json!({"properties": {"rows": {"type": "array", "items": {"anyOf": branches}}, "b": {"type": "integer"}}});
    let rows = vec![json!({"k9999": 1}); 5_000];
    assert_eq!(skipped(&schema, json!({"rows": rows})).unwrap().len(), 1);
    assert!(skipped(&schema, json!({"rows": rows, "b": "many"})).is_err());
}

#[test]
fn deep_values_are_checked_on_a_small_stack() {
    let tree = json!({"properties": {"t": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {"anyOf": [
        {"type": "integer"},
        {"allOf": [{"allOf": [{"type": "array", "items": {"$ref": "#/$defs/tree"}}]}]},
    ]}}});
    let deep = |innermost: Value| (0..120).fold(innermost, |inner, _| json!([inner]));
    let check = move || {
        (skipped(&tree, json!({"t": deep(json!(1))})), skipped(&tree, json!({"t": deep(json!("x"))})))
    };
    let small = std::thread::Builder::new().stack_size(256 * 1024).spawn(check).unwrap();
    let (fits, refused) = small.join().unwrap();
    assert_eq!(fits, Ok(Vec::new()));
    assert!(refused.is_err());
}
