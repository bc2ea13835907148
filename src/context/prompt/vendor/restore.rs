//! Converts arguments from a vendor's API back to the form of the tool's own schema.
//!
//! What a vendor's schema cannot express is requested as JSON text: strict mode and Gemini have no objects with free keys, Gemini
//! has no values of any type, and strict mode has only scalars of any type. A model writes such values as JSON text, because the
//! description says so; here the text is read.

use super::words::{common_type, types_in};
use super::{Vendor, inline};
use crate::prompt::clean::plain;
use serde_json::{Map, Value, json};
use toolhub_text::repeats_key;

/// Restores the names of parameters, and drops a null that only means "not given". Parses values that were requested as JSON
/// text.
pub fn restore(schema: &Value, arguments: &mut Map<String, Value>, vendor: Vendor) {
    // The tree that the model was shown.
    let Ok(tree) = inline::tree(schema, vendor) else { return };
    let mut given = Value::Object(std::mem::take(arguments));
    if matches!(vendor, Vendor::OpenAiStrict | Vendor::Gemini) {
        spread(&tree, &mut given);
    }
    vendor.below(&[&tree], &mut given);
    if let Value::Object(restored) = given {
        *arguments = restored;
    }
}

/// Gives the members of an object their own names back.
fn rename(objects: &[&Value], given: &mut Map<String, Value>) {
    let own = || objects.iter().filter_map(|object| properties(object)).flat_map(Map::keys);
    let strange: Vec<String> = given.keys().filter(|key| own().all(|name| name != *key)).cloned().collect();
    for key in strange {
        let is_shown_as = |name: &&String| {
            let shown = plain(name);
            shown == key.as_str() || [".-", ""].into_iter().any(|also| super::key(&shown, also) == key)
        };
        if let Some(name) = own().find(|name| is_shown_as(name) && !given.contains_key(*name))
            && let Some(value) = given.remove(&key)
        {
            given.insert(name.clone(), value);
        }
    }
}

impl Vendor {
    /// Drops omitted values inside a value of one of these schemas, and parses JSON text.
    fn below(&self, schemas: &[&Value], value: &mut Value) {
        if let Value::String(text) = value
            && let Some(read) = read(&branches(schemas), text, *self)
        {
            *value = read;
        }
        match value {
            Value::Object(given) => {
                rename(&branches(schemas), given);
                let objects = self.matching(schemas, given);
                given.retain(|name, value| !value.is_null() || !self.is_not_given(&objects, name));
                for (name, value) in given {
                    let inner: Vec<&Value> =
                        objects.iter().filter_map(|object| member(object, name)).collect();
                    self.below(&inner, value);
                }
            }
            Value::Array(list) => {
                let lists = branches(schemas);
                let tuple_items =
                    lists.iter().filter_map(|list| list.get("prefixItems")?.as_array()).flatten();
                let all_items =
                    lists.iter().flat_map(|list| [list.get("items"), list.get("contains")]).flatten();
                let items: Vec<&Value> = all_items.chain(tuple_items).collect();
                list.iter_mut().for_each(|value| self.below(&items, value));
            }
            _ => {}
        }
    }

    /// The object schemas that the value may match, by its keys and by discriminating values; all if none matches.
    fn matching<'a>(&self, schemas: &[&'a Value], given: &Map<String, Value>) -> Vec<&'a Value> {
        let mut objects = branches(schemas);
        objects.retain(|schema| properties(schema).is_some() || open_members(schema).is_some());
        let fitting: Vec<&Value> =
            objects.iter().copied().filter(|object| self.fits(object, given)).collect();
        if fitting.is_empty() { objects } else { fitting }
    }

    fn fits(&self, object: &Value, given: &Map<String, Value>) -> bool {
        let Some(known) = properties(object) else { return open_members(object).is_some() };
        let can_be = |(name, value): (&String, &Value)| match known.get(name) {
            None => open_members(object).is_some(),
            Some(schema) if value.is_null() => !requires(object, name) || self.takes_null(schema),
            Some(schema) => match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
                (Some(only), _) => only == value,
                (_, Some(options)) => options.contains(value),
                _ => true,
            },
        };
        given.iter().all(can_be)
            && known.keys().all(|name| given.contains_key(name) || !requires(object, name))
    }

    /// A null means "not given" if no matching object accepts null there.
    fn is_not_given(&self, objects: &[&Value], name: &str) -> bool {
        let mut known =
            objects.iter().filter_map(|object| Some((object, properties(object)?.get(name)?))).peekable();
        known.peek().is_some()
            && known.all(|(object, schema)| !requires(object, name) && !self.takes_null(schema))
    }

    fn takes_null(&self, schema: &Value) -> bool {
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            return true;
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return options.contains(&Value::Null);
        }
        if let Some(only) = schema.get("const") {
            return only.is_null();
        }
        match (schema.get("type"), schema.get("anyOf")) {
            (kind @ Some(_), _) => types_in(kind).contains(&"null"),
            (None, Some(Value::Array(union))) => union.iter().any(|one| self.takes_null(one)),
            // Strict mode requires null for omitted optional values, so a null carries no information.
            (None, _) => *self != Vendor::OpenAiStrict,
        }
    }
}

/// The schemas, with unions replaced by their branches.
fn branches<'a>(schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for schema in schemas {
        let union = schema.get("anyOf").and_then(Value::as_array);
        if union.is_none() || properties(schema).is_some() {
            found.push(*schema);
        }
        for branch in union.into_iter().flatten() {
            found.extend(branches(&[branch]));
        }
    }
    found
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The schema of the members that an object may have besides its properties.
fn open_members(schema: &Value) -> Option<&Value> {
    schema.get("additionalProperties").filter(|members| members.is_object())
}

fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    properties(object).and_then(|known| known.get(name)).or_else(|| open_members(object))
}

fn requires(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
}

/// The only parameter of a tool that has free names and no others.
const ALL: &str = "arguments";

/// True for a tree of a tool whose arguments have free names only.
fn is_open(tree: &Value) -> bool {
    let has_own = tree.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    let is_free = |others: &Value| others.is_object() || others == &Value::Bool(true);
    !has_own && tree.get("additionalProperties").is_some_and(is_free)
}

/// The tree for an API that has no free names: then one parameter holds all arguments.
pub fn gathered(tree: Value) -> Value {
    if !is_open(&tree) {
        return tree;
    }
    let others = tree["additionalProperties"].clone();
    let all = json!({"type": "object", "description": "all arguments, by their names", "additionalProperties": others});
    json!({"type": "object", "properties": {ALL: all}})
}

/// Takes the arguments out of the parameter that holds them all.
fn spread(tree: &Value, given: &mut Value) {
    let Some(all) = given.as_object_mut().filter(|given| given.len() == 1 && is_open(tree)) else { return };
    let held = match all.get(ALL) {
        Some(Value::Object(held)) => held.clone(),
        Some(Value::Null) => Map::new(),
        Some(Value::String(text)) => match json_in(text) {
            Some(Value::Object(held)) => held,
            _ => return,
        },
        _ => return,
    };
    *all = held;
}

/// The value of a text. One that has a key twice stays a text: which value was meant, nobody knows.
fn json_in(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|_| !repeats_key(text))
}

/// The value that a model wrote as JSON text for one of these schemas, which are not unions; `None` if the text is the value.
fn read(schemas: &[&Value], text: &str, vendor: Vendor) -> Option<Value> {
    let options = || {
        let listed = |schema: &&Value| {
            let several = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            several.iter().chain(schema.get("const")).cloned().collect::<Vec<_>>()
        };
        schemas.iter().flat_map(listed)
    };
    let is_complex = |value: &Value| value.is_object() || value.is_array();
    if options().any(|option| is_complex(&option)) {
        let read = json_in(text).filter(is_complex);
        if let Some(read) = read.filter(|read| options().any(|option| option == *read)) {
            return Some(read);
        }
    }
    if schemas.is_empty() {
        return None;
    }
    if schemas.iter().all(|schema| has_types(schema, &["object", "array", "null"])) {
        return json_in(text).filter(is_complex);
    }
    let is_any = |schema: &&Value| schema.as_object().is_none_or(is_any);
    match vendor {
        Vendor::OpenAi | Vendor::Anthropic => None,
        // Models often omit the quotes of a string.
        Vendor::Gemini if schemas.iter().any(is_any) && !schemas.iter().any(takes_text) => json_in(text),
        Vendor::OpenAiStrict if schemas.iter().any(is_any) => json_in(text).filter(is_complex),
        // A text or an object, which is requested as text.
        _ if schemas.iter().any(is_free_object) => json_in(text).filter(Value::is_object),
        _ => None,
    }
}

/// True for a schema that has types, all of them among these.
fn has_types(schema: &Value, known: &[&str]) -> bool {
    let types = types_in(schema.get("type"));
    !types.is_empty() && types.iter().all(|one| known.contains(one))
}

fn takes_text(schema: &&Value) -> bool {
    types_in(schema.get("type")).contains(&"string")
}

fn is_free_object(schema: &&Value) -> bool {
    let is_filled = schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    types_in(schema.get("type")).contains(&"object") && !is_filled
}

/// True for a schema that allows values of any type.
fn is_any(map: &Map<String, Value>) -> bool {
    let options = || map.get("enum").and_then(Value::as_array).and_then(|all| common_type(all));
    ["const", "anyOf", "type"].iter().all(|key| !map.contains_key(*key)) && options().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_come_back_and_empty_ones_go() {
        let schema = json!({"type": "object", "required": ["filter[id]"], "properties": {
            "filter[id]": {"type": "string"}, "limit": {"type": "integer"}, "note": {"type": ["string", "null"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
        }});
        let mut given = json!({
            super::super::key("filter[id]", ".-"): "7", "limit": null, "note": null, "rows": [{"x": null}, {"x": 1}], "other": null
        });
        if let Some(given) = given.as_object_mut() {
            restore(&schema, given, Vendor::Anthropic);
        }
        assert_eq!(given, json!({"filter[id]": "7", "note": null, "rows": [{}, {"x": 1}], "other": null}));
    }

    /// The names of a tree, as a model sends them, with a value of the same form.
    fn as_sent(value: &Value, vendor: Vendor) -> Value {
        match value {
            Value::Object(map) => {
                map.iter().map(|(name, inner)| (vendor.key(&plain(name)), as_sent(inner, vendor))).collect()
            }
            Value::Array(items) => items.iter().map(|item| as_sent(item, vendor)).collect(),
            other => other.clone(),
        }
    }

    /// A value, and a schema that describes each of its keys.
    fn described() -> impl Strategy<Value = (Value, Value)> {
        let leaf = Just((json!("v"), json!({"type": "string"})));
        leaf.prop_recursive(4, 24, 4, |inner| {
            let object = prop::collection::btree_map("[a-z$@ \\[\\]城市.-]{1,6}", inner.clone(), 1..4);
            prop_oneof![
                object.prop_map(|members| {
                    let value: Map<_, _> = members.iter().map(|(k, (v, _))| (k.clone(), v.clone())).collect();
                    let schemas: Map<_, _> = members.into_iter().map(|(k, (_, s))| (k, s)).collect();
                    (Value::Object(value), json!({"type": "object", "properties": schemas}))
                }),
                inner.clone().prop_map(|(v, s)| (json!([v]), json!({"type": "array", "items": s}))),
                inner.clone().prop_map(|(v, s)| (v, json!({"anyOf": [s, {"type": "null"}]}))),
                inner.prop_map(|(v, s)| (
                    json!({"k": v}),
                    json!({"type": "object", "additionalProperties": s})
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn names_come_back_at_every_depth((value, schema) in described()) {
            let schema = json!({"type": "object", "properties": {"a b": schema}});
            let value = json!({"a b": value});
            for vendor in [Vendor::Anthropic, Vendor::Gemini] {
                let mut given = as_sent(&value, vendor).as_object().cloned().unwrap_or_default();
                restore(&schema, &mut given, vendor);
                prop_assert_eq!(&Value::Object(given), &value);
            }
        }
    }

    #[test]
    fn what_was_requested_as_text_is_read() {
        let (any, text) = (json!({"description": "x"}), json!({"type": "string"}));
        let free = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let only = json!({"const": {"k": 1}});
        let some = json!({"enum": ["a", {"b": [1]}]});
        let all = [Vendor::OpenAiStrict, Vendor::Gemini];
        type Case<'a> = (&'a [&'a Value], &'a str, [Option<Value>; 2]);
        let cases: [Case<'_>; 12] = [
            (&[&any], "2.5", [None, Some(json!(2.5))]),
            (&[&any], "{\"a\": [1]}", [Some(json!({"a": [1]})), Some(json!({"a": [1]}))]),
            (&[&any], "[1]", [Some(json!([1])), Some(json!([1]))]),
            (&[&any], "plain words", [None, None]),
            (&[&any, &text], "2.5", [None, None]),
            (&[&text, &free], "{\"a\": 1}", [Some(json!({"a": 1})), Some(json!({"a": 1}))]),
            (&[&text, &free], "[1]", [None, None]),
            (&[&text, &free], "{broken", [None, None]),
            (&[&text], "{\"a\": 1}", [None, None]),
            (&[&only], "{\"k\": 1}", [Some(json!({"k": 1})), Some(json!({"k": 1}))]),
            (&[&some], "{\"b\":[1]}", [Some(json!({"b": [1]})), Some(json!({"b": [1]}))]),
            (&[&some], "a", [None, None]),
        ];
        for (schemas, given, expected) in cases {
            assert_eq!(all.map(|vendor| read(schemas, given, vendor)), expected, "{schemas:?} {given}");
        }
        // Other APIs have a form for them.
        assert_eq!(read(&[&text, &free], "{\"a\": 1}", Vendor::Anthropic), None);
    }

    #[test]
    fn free_names_are_gathered_and_spread() {
        let tree = json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}});
        assert!(gathered(tree.clone())["properties"][ALL].is_object());
        for (given, expected) in [
            (json!({"arguments": "{\"a\": \"b\"}"}), json!({"a": "b"})),
            (json!({"arguments": {"a": "b"}}), json!({"a": "b"})),
            (json!({"arguments": null}), json!({})),
            (json!({"arguments": "b"}), json!({"arguments": "b"})),
            (json!({"a": "b"}), json!({"a": "b"})),
            (json!({}), json!({})),
        ] {
            let mut value = given;
            spread(&tree, &mut value);
            assert_eq!(value, expected);
        }
        for closed in [
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        ] {
            assert_eq!(gathered(closed.clone()), closed);
        }
    }
}
