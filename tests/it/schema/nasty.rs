//! Schemas of strangers: broken, endless, huge.

use super::checked;
use serde_json::{Map, Value, json};

#[test]
fn a_broken_schema_checks_nothing() {
    for schema in [
        json!({"type": 5}),
        json!({"properties": {"a": {"type": "no such type"}}}),
        json!({"$ref": "https://example.com/x.json"}),
        json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/nobody"}}}),
        json!({"properties": {"a": {"pattern": "("}}}),
        json!({"$schema": "https://example.com/draft"}),
        json!("not a schema"),
    ] {
        assert_eq!(checked(&schema, json!({"a": "1"}), true), Ok(json!({"a": "1"})), "{schema}");
    }
}

#[test]
fn a_reference_that_leads_back_to_itself_is_not_followed() {
    let two = json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}});
    for schema in [json!({"type": "object", "$ref": "#"}), two] {
        assert_eq!(checked(&schema, json!({"a": 1}), true), Ok(json!({"a": 1})));
    }
    let beside = json!({"$ref": "#", "required": ["a"]});
    assert!(checked(&beside, json!({}), true).is_err(), "all other rules are checked");
}

#[test]
fn a_schema_of_trees_is_checked() {
    let tree =
        json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    assert!(checked(&tree, json!({"children": [{"children": []}]}), true).is_ok());
    assert!(checked(&tree, json!({"children": [{"children": 5}]}), true).is_err());
}

#[test]
fn references_that_multiply_check_nothing() {
    let mut defs = Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"anyOf": [next, next]}));
    }
    defs.insert("d60".into(), json!({"type": "integer"}));
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    assert_eq!(checked(&schema, json!({"a": "x"}), true), Ok(json!({"a": "x"})));
}

#[test]
fn a_long_chain_of_references_is_no_danger_for_the_stack() {
    let mut defs = Map::new();
    for n in 0..20_000 {
        defs.insert(format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
    }
    defs.insert("d20000".into(), json!({"type": "integer"}));
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    assert!(checked(&schema, json!({"a": "x"}), true).is_ok());
}

/// Elements of two kinds whose children are elements: every branch looks at all children.
fn page() -> Value {
    let element = |kind: &str| {
        json!({"type": "object", "properties": {"kind": {"const": kind},
            "children": {"type": "array", "items": {"$ref": "#/$defs/element"}}}, "required": ["kind"]})
    };
    json!({"properties": {"page": {"$ref": "#/$defs/element"}},
        "$defs": {"element": {"anyOf": [element("div"), element("span"), {"type": "null"}]}}})
}

fn nested(depth: usize, innermost: Value) -> Value {
    (0..depth).fold(innermost, |inner, _| json!({"kind": "div", "children": [inner]}))
}

#[test]
fn unions_of_unions_are_checked_as_far_as_that_can_be_paid() {
    let shallow = checked(&page(), json!({"page": nested(2, json!({"kind": "div", "children": 5}))}), true);
    assert!(shallow.unwrap_err().contains("page.children[0].children[0].children: expected an array"));
    let deep = checked(&page(), json!({"page": nested(45, json!({"kind": "div", "children": 5}))}), true);
    assert!(deep.is_ok(), "2⁴⁵ paths lead to the innermost element, so none is followed");
    let packed = nested(5, json!({"kind": "div", "children": 5})).to_string();
    assert!(checked(&page(), json!({"page": packed}), true).is_err());
    assert!(checked(&page(), json!({"page": nested(45, json!(null))}), true).is_ok());
}

#[test]
fn ten_thousand_properties_are_no_trouble() {
    let properties: Map<String, Value> =
        (0..10_000).map(|n| (format!("argument_{n}"), json!({"type": "integer"}))).collect();
    let required: Vec<&String> = properties.keys().collect();
    let schema = json!({"properties": properties, "required": required, "additionalProperties": false});
    let unknown: Map<String, Value> = (0..10_000).map(|n| (format!("argumnet_{n}"), json!("5"))).collect();
    let message = checked(&schema, Value::Object(unknown), true).unwrap_err();
    assert!(message.len() < 2000, "{message}");
    let text: Map<String, Value> =
        (0..10_000).map(|n| (format!("argument_{n}"), json!(n.to_string()))).collect();
    assert_eq!(checked(&schema, Value::Object(text), true).unwrap()["argument_77"], json!(77));
}

#[test]
fn much_data_is_mended_or_reported() {
    let schema = json!({"properties": {"rows": {"items": {"type": "integer"}}}});
    let rows = |n: usize| json!({"rows": vec!["5"; n]});
    assert_eq!(checked(&schema, rows(20_000), true).unwrap()["rows"][19_999], json!(5));
    let message = checked(&schema, json!({"rows": vec!["x"; 20_000]}), true).unwrap_err();
    assert!(message.starts_with("rows[0]: expected an integer, got 'x' (string)"), "{message}");
    let perhaps =
        json!({"properties": {"rows": {"anyOf": [{"items": {"type": "integer"}}, {"type": "null"}]}}});
    let message = checked(&perhaps, json!({"rows": vec!["x"; 20_000]}), true).unwrap_err();
    assert!(message.contains("rows"), "{message}");
}

#[test]
fn a_pattern_that_looks_ahead_is_checked_like_any_other() {
    let schema = json!({"properties": {
        "a": {"type": "string", "pattern": "^(?!bad)"},
        "b": {"type": "integer"},
        "c": {"type": "string", "pattern": "^x"},
    }});
    assert!(checked(&schema, json!({"a": "bad"}), true).is_err());
    assert!(checked(&schema, json!({"a": "good"}), true).is_ok());
    assert_eq!(checked(&schema, json!({"b": "5"}), true).unwrap()["b"], json!(5));
    assert!(checked(&schema, json!({"b": "many"}), true).is_err());
    assert!(checked(&schema, json!({"c": "y"}), true).is_err());
}

#[test]
fn huge_unions_and_contradictions_end() {
    let branches: Vec<Value> =
        (0..5000).map(|n| json!({"type": "object", "required": [format!("k{n}")]})).collect();
    let schema = json!({"properties": {"a": {"anyOf": branches}}});
    assert!(checked(&schema, json!({"a": "{}"}), true).unwrap_err().len() < 1000);
    let torn = json!({"properties": {"a": {"allOf": [{"type": "string"}, {"type": "integer"}]}}});
    assert!(checked(&torn, json!({"a": "5"}), true).is_err());
    let pattern = json!({"properties": {"a": {"pattern": "^(a+)+$"}}});
    assert!(checked(&pattern, json!({"a": "a".repeat(5000) + "!"}), true).is_err());
}
