//! What is made to fit, and what is not.

use super::{checked, one};
use serde_json::{Value, json};

#[test]
fn harmless_mismatches_are_mended() {
    let long: Value = serde_json::from_str("123456789012345678901234567890").unwrap();
    let cases = [
        // Text for a number.
        (json!({"type": "integer"}), json!("5"), json!(5)),
        (json!({"type": "integer"}), json!(" -7 "), json!(-7)),
        (json!({"type": "integer"}), json!("5.0"), json!(5)),
        (json!({"type": "integer"}), json!("1e3"), json!(1000)),
        (json!({"type": "integer"}), json!("18446744073709551615"), json!(u64::MAX)),
        (json!({"type": "integer"}), json!("123456789012345678901234567890"), long.clone()),
        (json!({"type": "number"}), json!("5"), json!(5)),
        (json!({"type": "number"}), json!("2.50"), json!(2.5)),
        (json!({"type": "number"}), json!("0.1"), json!(0.1)),
        (json!({"type": ["number", "null"]}), json!("1.5e300"), json!(1.5e300)),
        // Text for a truth value or nothing.
        (json!({"type": "boolean"}), json!("true"), json!(true)),
        (json!({"type": "boolean"}), json!("False"), json!(false)),
        (json!({"type": ["integer", "null"]}), json!("null"), json!(null)),
        (json!({"type": ["integer", "null"]}), json!("None"), json!(null)),
        // A value for text.
        (json!({"type": "string"}), json!(5), json!("5")),
        (json!({"type": "string"}), json!(2.5), json!("2.5")),
        (json!({"type": "string"}), long.clone(), json!("123456789012345678901234567890")),
        (json!({"type": "string"}), json!(true), json!("true")),
        // JSON text for what it holds.
        (json!({"type": "object"}), json!("{\"a\": [1, 2.5]}"), json!({"a": [1, 2.5]})),
        (json!({"type": "array"}), json!(" [1, \"2: 3\"] "), json!([1, "2: 3"])),
        (json!({"type": "array"}), json!("[123456789012345678901234567890]"), json!([long])),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("[\"1\", 2]"), json!([1, 2])),
        // A lone value for an array of such.
        (json!({"type": "array", "items": {"type": "string"}}), json!("one"), json!(["one"])),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("5"), json!([5])),
        (json!({"type": "array", "items": {"type": "object"}}), json!({"a": 1}), json!([{"a": 1}])),
        // Repeated values of a set.
        (json!({"type": "array", "uniqueItems": true}), json!([1, "a", 1, "a"]), json!([1, "a"])),
        // An option in other letters.
        (json!({"enum": ["celsius", "fahrenheit"]}), json!("Celsius "), json!("celsius")),
        (json!({"enum": ["in_progress", "done"]}), json!("In Progress"), json!("in_progress")),
        (json!({"enum": [1, 5]}), json!("5"), json!(5)),
        (json!({"enum": ["1", "5"]}), json!(5), json!("5")),
        (json!({"type": "string", "enum": ["1", "5"]}), json!(5), json!("5")),
        (json!({"const": "Email"}), json!("email"), json!("Email")),
    ];
    for (schema, given, wanted) in cases {
        let got = one(schema.clone(), given.clone());
        assert_eq!(got.as_ref(), Ok(&wanted), "{given} for {schema}");
        let strict = json!({"properties": {"it": schema}});
        assert!(checked(&strict, json!({"it": given}), false).is_err(), "{given} fits without coercion");
    }
}

#[test]
fn what_would_lose_something_or_may_mean_something_else_is_refused() {
    let cases = [
        (json!({"type": "integer"}), json!("5.5")),
        (json!({"type": "integer"}), json!("1,000")),
        (json!({"type": "integer"}), json!("007")),
        (json!({"type": "integer"}), json!("+5")),
        (json!({"type": "integer"}), json!("0x10")),
        (json!({"type": "integer"}), json!("")),
        (json!({"type": "integer"}), json!(true)),
        (json!({"type": "number"}), json!("0.10000000000000000001")),
        (json!({"type": "number"}), json!("1e400")),
        (json!({"type": "number"}), json!("NaN")),
        (json!({"type": "boolean"}), json!("yes")),
        (json!({"type": "boolean"}), json!(1)),
        (json!({"type": ["integer", "null"]}), json!("")),
        (json!({"type": "string"}), json!(1e30)),
        (json!({"type": "string"}), json!(null)),
        (json!({"type": "string"}), json!(["a"])),
        (json!({"type": "object"}), json!("{'a': 1}")),
        (json!({"type": "object"}), json!("[1]")),
        (json!({"type": "object"}), json!("{\"a\": 1, \"a\": 1}")),
        (json!({"type": "array"}), json!("[0.10000000000000000001]")),
        (json!({"type": "object"}), json!([{"name": "a", "value": 1}])),
        (json!({"type": "array", "items": {"type": "string"}}), json!("one, two")),
        (json!({"type": "array", "items": {"type": "string"}}), json!("[\"one\"")),
        (json!({"type": "array", "items": {"type": "string"}}), json!("")),
        (json!({"type": "array", "items": {"type": "string"}}), json!(null)),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("one")),
        (json!({"enum": ["a", "A"]}), json!(" a")),
        (json!({"enum": ["c++", "c"]}), json!("c+")),
        (json!({"enum": [null]}), json!("null")),
    ];
    for (schema, given) in cases {
        assert!(one(schema.clone(), given.clone()).is_err(), "{given} for {schema}");
    }
}

#[test]
fn what_fits_is_not_touched() {
    let cases = [
        (json!({"type": "string"}), json!("5")),
        (json!({"type": ["string", "integer"]}), json!("5")),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!("5")),
        (json!({"type": "integer"}), json!(5.0)),
        (json!({"enum": ["a", "A"]}), json!("A")),
        (json!({}), json!("{\"a\": 1}")),
    ];
    for (schema, given) in cases {
        // A second argument has to be mended, so that all are looked at.
        let schema = json!({"properties": {"it": schema, "n": {"type": "integer"}}});
        let got = checked(&schema, json!({"it": given, "n": "1"}), true).unwrap();
        // 5 is not 5.0 here.
        assert_eq!(got, json!({"it": given, "n": 1}));
    }
}

#[test]
fn all_ways_of_a_schema_are_followed() {
    let int = json!({"type": "integer"});
    let cases = [
        (json!({"$ref": "#/$defs/n"}), json!("1"), json!(1)),
        (json!({"allOf": [{}, {"$ref": "#/$defs/n"}]}), json!("1"), json!(1)),
        (json!({"anyOf": [int, {"type": "null"}]}), json!("1"), json!(1)),
        (json!({"anyOf": [{"type": "null"}, {"type": "boolean"}, int]}), json!("1"), json!(1)),
        (
            json!({"oneOf": [{"type": "object"}, {"type": "array", "items": int}]}),
            json!("[\"1\"]"),
            json!([1]),
        ),
        (json!({"anyOf": [{"type": "array", "items": int}, int]}), json!("1"), json!(1)),
        (
            json!({"anyOf": [{"type": "array", "items": {"anyOf": [int, {"type": "null"}]}}, {"type": "null"}]}),
            json!(["1", null]),
            json!([1, null]),
        ),
        (json!({"additionalProperties": int}), json!({"a": "1"}), json!({"a": 1})),
        (json!({"patternProperties": {"^n": int}}), json!({"n1": "1", "x": "1"}), json!({"n1": 1, "x": "1"})),
        (
            json!({"prefixItems": [int, {"type": "string"}], "items": int}),
            json!(["1", 2, "3"]),
            json!([1, "2", 3]),
        ),
        (
            json!({"if": {"required": ["a"]}, "then": {"properties": {"a": int}}}),
            json!({"a": "1"}),
            json!({"a": 1}),
        ),
        (
            json!({"dependentSchemas": {"a": {"properties": {"b": int}}}}),
            json!({"a": 0, "b": "1"}),
            json!({"a": 0, "b": 1}),
        ),
        (json!({"properties": {"a/b~c": int}}), json!({"a/b~c": "1"}), json!({"a/b~c": 1})),
    ];
    for (schema, given, wanted) in cases {
        let schema = json!({"properties": {"it": schema}, "$defs": {"n": int}});
        assert_eq!(checked(&schema, json!({"it": given}), true), Ok(json!({"it": wanted})), "{schema}");
    }
}

#[test]
fn the_branch_of_a_union_is_the_first_that_everything_fits() {
    let shapes = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "size": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "size": {"type": "string"}}, "required": ["kind"]}]});
    assert_eq!(
        one(shapes.clone(), json!({"kind": "square", "size": 5})),
        Ok(json!({"kind": "square", "size": "5"}))
    );
    assert_eq!(
        one(shapes.clone(), json!({"kind": "circle", "size": "5"})),
        Ok(json!({"kind": "circle", "size": 5}))
    );
    let text = "{\"kind\": \"Square\", \"size\": 5}";
    assert_eq!(one(shapes, json!(text)), Ok(json!({"kind": "square", "size": "5"})));
}

#[test]
fn trees_are_mended_at_every_level() {
    let tree = json!({"properties": {"n": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}}});
    let given = json!({"n": "1", "children": [{"n": "2", "children": "[{\"n\": \"3\"}]"}]});
    let wanted = json!({"n": 1, "children": [{"n": 2, "children": [{"n": 3}]}]});
    assert_eq!(checked(&tree, given, true), Ok(wanted));
}

#[test]
fn nothing_is_invented() {
    let schema = json!({"properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "integer"}}, "required": ["b"]});
    assert_eq!(checked(&schema, json!({"b": "1"}), true), Ok(json!({"b": 1})));
    let with_default = json!({"properties": {"a": {"default": 3}}, "required": ["a"]});
    assert!(checked(&with_default, json!({}), true).is_err());
    let near = json!({"properties": {"filepath": {"type": "string"}}, "required": ["filepath"]});
    assert!(checked(&near, json!({"file_path": "a"}), true).is_err(), "names are not corrected");
}

#[test]
fn in_draft_4_a_float_is_no_integer() {
    let schema = json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"type": "integer"}}});
    assert_eq!(checked(&schema, json!({"n": 5.0}), true), Ok(json!({"n": 5})));
    assert!(checked(&schema, json!({"n": 5.5}), true).is_err());
}

#[test]
fn a_null_that_does_not_fit_is_left_out_where_that_is_allowed() {
    let int = json!({"type": "integer"});
    let schema = json!({
        "properties": {"n": int, "must": int, "kind": {"enum": ["a", "b"]}, "both": {"anyOf": [int, {"type": "boolean"}]},
            "maybe": {"type": ["integer", "null"]}, "by/ref": {"$ref": "#/$defs/int"}, "rows": {"items": int},
            "in": {"properties": {"x": int, "y": int}, "required": ["y"]}},
        "required": ["must"], "$defs": {"int": int}});
    let fits = |given: Value| checked(&schema, given, true);
    assert_eq!(
        fits(json!({"must": "1", "n": null, "kind": null, "both": null, "maybe": null, "by/ref": null})),
        Ok(json!({"must": 1, "maybe": null}))
    );
    assert_eq!(fits(json!({"must": 1, "in": {"x": null, "y": 2}})), Ok(json!({"must": 1, "in": {"y": 2}})));
    for (given, words) in [
        (json!({"must": null}), "must: expected an integer, got null"),
        (json!({"must": 1, "in": {"y": null}}), "in.y: expected an integer, got null"),
        (json!({"must": 1, "rows": [null]}), "rows[0]: expected an integer, got null"),
        (json!({"n": null}), "must: required argument is missing, expected an integer"),
    ] {
        assert_eq!(fits(given.clone()), Err(words.to_owned()), "{given}");
    }
    assert!(checked(&schema, json!({"must": 1, "n": null}), false).is_err());
}

#[test]
fn also_inside_of_a_union() {
    let int = json!({"type": "integer"});
    let node = json!({"type": "object", "properties": {"n": int, "next": {"$ref": "#/$defs/node"},
        "both": {"anyOf": [int, {"type": "boolean"}]}, "maybe": {"type": ["integer", "null"]}}, "required": ["n"]});
    let square = json!({"type": "object", "properties": {"size": int, "name": {"type": "string"}},
        "required": ["size"], "additionalProperties": false});
    let schema =
        |schema: Value| json!({"properties": {"it": schema}, "$defs": {"node": node, "square": square}});
    let (node, square) = (json!({"$ref": "#/$defs/node"}), json!({"$ref": "#/$defs/square"}));
    let empty = json!({"type": "null"});
    let cases = [
        (json!({"anyOf": [node, empty]}), json!({"n": 1, "next": null}), json!({"n": 1})),
        (
            json!({"anyOf": [node, empty]}),
            json!({"n": "1", "both": null, "maybe": null, "next": {"n": 2, "next": null}}),
            json!({"n": 1, "maybe": null, "next": {"n": 2}}),
        ),
        (
            json!({"anyOf": [{"type": "array", "items": node}, empty]}),
            json!([{"n": 1, "next": null}, {"n": 2}]),
            json!([{"n": 1}, {"n": 2}]),
        ),
        (json!({"oneOf": [node, square]}), json!({"size": 1, "name": null}), json!({"size": 1})),
        (
            json!({"anyOf": [{"type": "array", "items": {"anyOf": [node, square]}}, empty]}),
            json!([{"size": 1, "name": null}, {"n": 1, "next": null}]),
            json!([{"size": 1}, {"n": 1}]),
        ),
    ];
    for (union, given, wanted) in cases {
        assert_eq!(checked(&schema(union), json!({"it": given}), true), Ok(json!({"it": wanted})), "{given}");
    }
    let missing = checked(&schema(json!({"anyOf": [square, empty]})), json!({"it": {"size": null}}), true);
    assert_eq!(missing, Err("it.size: expected an integer, got null".to_owned()));
}
