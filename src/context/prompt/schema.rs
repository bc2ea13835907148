//! A view of one JSON Schema: references resolved, `allOf` merged, nothing copied.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The number of schemas merged into one; more is an attack.
const MAX_LAYERS: usize = 32;
/// More ways to take a branch of each of several unions are not told apart: then only the first unions count.
const MAX_ALTERNATIVES: usize = 16;

/// A schema of the document. Each keyword comes from the first layer that has it.
#[derive(Clone)]
pub struct SchemaShape<'a> {
    root: &'a Value,
    layers: SmallVec<[&'a Map<String, Value>; 2]>,
    /// The references that led here, to detect a cycle.
    trail: Vec<&'a str>,
    /// Its name in the last reference.
    name: Option<&'a str>,
    /// It contains itself: its content is not shown again.
    pub repeats: bool,
    /// `false` or `{"not": {}}`: no value is valid.
    pub never: bool,
}

impl<'a> SchemaShape<'a> {
    /// The whole document.
    pub fn of(root: &'a Value) -> Self {
        SchemaShape::empty(root).below(root)
    }

    fn empty(root: &'a Value) -> Self {
        let (layers, trail) = (SmallVec::new(), Vec::new());
        SchemaShape { root, layers, trail, name: None, repeats: false, never: false }
    }

    /// A schema that is part of this one.
    pub fn below(&self, schema: &'a Value) -> Self {
        let mut shape = SchemaShape { trail: self.trail.clone(), ..SchemaShape::empty(self.root) };
        shape.settle(schema);
        shape
    }

    /// A property of this one: what every layer says about it.
    pub fn property(&self, name: &str) -> Self {
        let objects = self.layers.iter().filter_map(|layer| keyword(layer, "properties")?.as_object());
        let parts = objects.filter_map(|properties| keyword(properties, name));
        let mut shape = SchemaShape::empty(self.root);
        parts.for_each(|schema| shape.join(self.below(schema)));
        shape
    }

    /// Adds a schema that holds for the same value.
    fn join(&mut self, part: Self) {
        let free = MAX_LAYERS.saturating_sub(self.layers.len());
        self.layers.extend(part.layers.into_iter().take(free));
        // A reference that two parts have in common is not a cycle.
        self.trail.extend(part.trail);
        self.name = self.name.or(part.name);
        self.repeats |= part.repeats;
        self.never |= part.never;
    }

    fn settle(&mut self, schema: &'a Value) {
        let Some(map) = schema.as_object() else {
            self.never |= schema == &Value::Bool(false);
            return;
        };
        self.never |= keyword(map, "not").is_some_and(takes_all);
        if self.layers.len() == MAX_LAYERS {
            return;
        }
        self.layers.push(map);
        if let Some(reference) = keyword(map, "$ref").and_then(Value::as_str) {
            self.name = reference.rsplit('/').next().filter(|name| !name.is_empty() && *name != "#");
            if self.trail.contains(&reference) {
                self.repeats = true;
                return;
            }
            self.trail.push(reference);
            if let Some(target) = target(self.root, reference) {
                self.settle(target);
            }
        }
        for part in keyword(map, "allOf").and_then(Value::as_array).into_iter().flatten() {
            self.settle(part);
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.layers.iter().find_map(|layer| keyword(layer, key))
    }

    /// The values that every layer allows; `None` if no layer lists any. Lists that share nothing are a mistake in the schema:
    /// the first one is shown then.
    pub fn options(&self) -> Option<Cow<'a, [Value]>> {
        let mut lists = self.layers.iter().filter_map(|layer| keyword(layer, "enum")?.as_array());
        let first = lists.next()?;
        let others: SmallVec<[&Vec<Value>; 2]> = lists.collect();
        let shared = |value: &&Value| others.iter().all(|list| list.contains(value));
        if others.is_empty() || !first.iter().any(|value| shared(&value)) {
            return Some(Cow::Borrowed(first));
        }
        Some(first.iter().filter(shared).cloned().collect())
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub fn layers(&self) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.layers.iter().copied()
    }

    /// Its title, or the name of its definition.
    pub fn name(&self) -> Option<&'a str> {
        self.text("title").or(self.name)
    }

    /// All properties, each once, in the order of the schema.
    pub fn properties(&self) -> Vec<(&'a str, &'a Value)> {
        let mut found: Vec<(&str, &Value)> = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            for (name, schema) in
                keyword(layer, "properties").and_then(Value::as_object).into_iter().flatten()
            {
                if at == 0 || !found.iter().any(|(known, _)| known == name) {
                    found.push((name, schema));
                }
            }
        }
        found
    }

    pub fn has_properties(&self) -> bool {
        let filled = |layer: &&Map<String, Value>| {
            keyword(layer, "properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty())
        };
        self.layers.iter().any(filled)
    }

    pub fn requires(&self, name: &str) -> bool {
        let lists = self.layers.iter().filter_map(|layer| keyword(layer, "required")?.as_array());
        lists.flatten().any(|one| one.as_str() == Some(name))
    }

    /// The branches of each `anyOf` and `oneOf`. A value fits one of each.
    pub fn unions(&self) -> impl Iterator<Item = &'a [Value]> {
        let layers = self.layers.iter().flat_map(|layer| ["anyOf", "oneOf"].map(|key| keyword(layer, key)));
        layers.filter_map(|union| union?.as_array()).map(Vec::as_slice).filter(|union| !union.is_empty())
    }

    pub fn has_branches(&self) -> bool {
        self.unions().next().is_some()
    }

    /// The branches of its union. With several unions: all ways to take a branch of each.
    pub fn branches(&self) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (at, union) in self.unions().enumerate() {
            let branches = union.iter().map(|branch| self.below(branch));
            if at == 0 {
                found.extend(branches);
                continue;
            }
            if found.len() * union.len() > MAX_ALTERNATIVES {
                break;
            }
            let branches: Vec<Self> = branches.collect();
            let both = |one: &Self, other: &Self| {
                let mut both = one.clone();
                both.never |= !one.shares_type(other);
                both.join(other.clone());
                both
            };
            found = found.iter().flat_map(|one| branches.iter().map(|other| both(one, other))).collect();
        }
        found
    }

    /// False if no value has a type that both declare.
    fn shares_type(&self, other: &Self) -> bool {
        let (own, others) = (self.types(), other.types());
        let fits = |one: &str, other: &str| {
            one == other || matches!((one, other), ("integer", "number") | ("number", "integer"))
        };
        own.is_empty()
            || others.is_empty()
            || own.iter().any(|one| others.iter().any(|other| fits(one, other)))
    }

    /// The declared types, each once, or those that the other keywords imply.
    pub fn types(&self) -> SmallVec<[&'a str; 2]> {
        match self.get("type") {
            Some(Value::String(one)) => SmallVec::from_slice(&[one.as_str()]),
            Some(Value::Array(several)) => {
                let mut types = SmallVec::new();
                for one in several.iter().filter_map(Value::as_str) {
                    if !types.contains(&one) {
                        types.push(one);
                    }
                }
                types
            }
            _ if self.get("properties").is_some() => SmallVec::from_slice(&["object"]),
            _ if self.get("items").or_else(|| self.get("prefixItems")).is_some() => {
                SmallVec::from_slice(&["array"])
            }
            _ => SmallVec::new(),
        }
    }

    /// The schema of the items of an array.
    pub fn item(&self) -> Option<&'a Value> {
        self.get("items").filter(|items| !items.is_array())
    }

    /// The schemas of the items by position (`prefixItems`).
    pub fn tuple_items(&self) -> &'a [Value] {
        let tuple_items = self.get("prefixItems").or_else(|| self.get("items"));
        tuple_items.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The schema of the values of an open object.
    pub fn values(&self) -> Option<&'a Value> {
        self.get("additionalProperties")
            .filter(|values| values.as_object().is_some_and(|map| !map.is_empty()))
    }
}

/// True for `{}` and `true`, which every value fits.
fn takes_all(schema: &Value) -> bool {
    schema == &Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}

/// Schemas have few keywords: comparing them costs less than a hash.
fn keyword<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    const FEW: usize = 8;
    if schema.len() > FEW {
        return schema.get(key);
    }
    schema.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
}

/// The target of a reference inside the document. References are parts of URLs: `%24defs` is `$defs`.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer).or_else(|| root.pointer(&percent_decode_str(pointer).decode_utf8_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_and_parts_become_one_view() {
        let root = json!({
            "$defs": {"Base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
            "allOf": [{"$ref": "#/%24defs/Base"}, {"properties": {"name": {"type": "string"}}}]
        });
        let shape = SchemaShape::of(&root);
        let names: Vec<&str> = shape.properties().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["id", "name"]);
        assert!(shape.requires("id") && !shape.requires("name"));
        assert_eq!(&shape.types()[..], ["object"]);
    }

    #[test]
    fn every_layer_counts_for_a_property_and_for_what_is_allowed() {
        let root = json!({
            "properties": {"mode": {"type": "string"}},
            "allOf": [
                {"properties": {"mode": {"enum": ["a", "b"]}}},
                {"properties": {"mode": {"enum": ["b", "c"]}}, "enum": []},
            ]
        });
        let mode = SchemaShape::of(&root).property("mode");
        assert_eq!(&mode.types()[..], ["string"]);
        assert_eq!(mode.options().as_deref(), Some(&[json!("b")][..]));
        let apart = json!({"enum": [1], "allOf": [{"enum": [2]}]});
        assert_eq!(SchemaShape::of(&apart).options().as_deref(), Some(&[json!(1)][..]));
        let never = json!({"not": {}});
        assert!(SchemaShape::of(&never).never);
        let some = json!({"not": {"type": "null"}});
        assert!(!SchemaShape::of(&some).never);
    }

    #[test]
    fn several_unions_are_all_ways_to_take_a_branch_of_each() {
        let required = |shape: &SchemaShape<'_>| -> Vec<String> {
            let lists = shape.layers().filter_map(|layer| layer.get("required")?.as_array());
            lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let root = json!({"allOf": [
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"oneOf": [{"required": ["c"]}, {"required": ["d"]}]},
        ]});
        let branches = SchemaShape::of(&root).branches();
        assert_eq!(
            branches.iter().map(required).collect::<Vec<_>>(),
            [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]]
        );
        let root = json!({"allOf": [
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
        ]});
        let branches = SchemaShape::of(&root).branches();
        let possible: Vec<_> = branches.iter().filter(|one| !one.never).map(|one| one.types()).collect();
        assert_eq!(possible.len(), 1);
        assert_eq!(&possible[0][..], ["integer"]);
        let many = json!({"anyOf": vec![json!({}); 10]});
        let root = json!({"allOf": [many, many]});
        assert_eq!(SchemaShape::of(&root).branches().len(), 10);
    }

    #[test]
    fn a_ring_of_references_ends() {
        let root =
            json!({"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"});
        assert!(SchemaShape::of(&root).repeats);
        let wide: Vec<Value> = (0..1000).map(|_| json!({"allOf": [{}, {}]})).collect();
        let root = json!({"allOf": wide});
        assert_eq!(SchemaShape::of(&root).layers.len(), MAX_LAYERS);
    }
}
