//! Converts arguments from a vendor's API back to the form of the tool's own schema.

use super::Vendor;
use super::words::types_in;
use super::{inline, names, open};
use crate::prompt::clean::plain;
use serde_json::{Map, Value};

/// Restores the names of parameters, and drops a null that only means "not given". Parses values that were requested as JSON
/// text; see [`open`].
pub fn restore(schema: &Value, arguments: &mut Map<String, Value>, vendor: Vendor) {
    // The tree that the model was shown.
    let Ok(tree) = inline::tree(schema, vendor) else { return };
    let mut given = Value::Object(std::mem::take(arguments));
    if matches!(vendor, Vendor::OpenAiStrict | Vendor::Gemini) {
        open::spread(&tree, &mut given);
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
            shown == key.as_str() || [".-", ""].into_iter().any(|also| names::key(&shown, also) == key)
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
            && let Some(read) = open::read(&branches(schemas), text, *self)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn names_come_back_and_empty_ones_go() {
        let schema = json!({"type": "object", "required": ["filter[id]"], "properties": {
            "filter[id]": {"type": "string"}, "limit": {"type": "integer"}, "note": {"type": ["string", "null"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
        }});
        let mut given = json!({
            names::key("filter[id]", ".-"): "7", "limit": null, "note": null, "rows": [{"x": null}, {"x": 1}], "other": null
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
}
