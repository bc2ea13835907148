//! Where the schemas of a document are, and where its references lead. As the validator sees it: a path that is not seen here
//! would not be counted.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Keywords that refer to another schema.
pub const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The items of an array, or the values of an object.
pub fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(Map::values))
}

/// A value, and all that is inside it.
pub fn values(value: &Value) -> impl Iterator<Item = &Value> {
    let mut todo = vec![value];
    std::iter::from_fn(move || {
        let next = todo.pop()?;
        todo.extend(children(next));
        Some(next)
    })
}

/// The types that a `type` names.
pub fn types_in(kind: Option<&Value>) -> Vec<&str> {
    match kind {
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        one => one.and_then(Value::as_str).into_iter().collect(),
    }
}

/// The schemas inside a schema.
#[derive(Default)]
pub struct KeptParts<'a> {
    /// Those that look at the same value.
    pub beside: Vec<&'a Value>,
    /// Those that look at different parts of it: one property, one item.
    pub parts: Vec<&'a Value>,
    /// Those that may look at every part.
    pub every: Vec<&'a Value>,
}

/// The schemas in the keywords of a schema. What a reference leads to is not among them.
pub fn kept_in(map: &Map<String, Value>) -> KeptParts<'_> {
    let mut inside = KeptParts::default();
    for (keyword, value) in map {
        let list = value.as_array().into_iter().flatten();
        let named = value.as_object().into_iter().flat_map(|map| map.values());
        match keyword.as_str() {
            "allOf" | "anyOf" | "oneOf" => inside.beside.extend(list),
            "not" | "if" | "then" | "else" => inside.beside.push(value),
            "dependentSchemas" | "dependencies" => inside.beside.extend(named),
            "properties" => inside.parts.extend(named),
            "prefixItems" => inside.parts.extend(list),
            "items" if value.is_array() => inside.parts.extend(list),
            "patternProperties" => inside.every.extend(named),
            "items"
            | "additionalItems"
            | "unevaluatedItems"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "contentSchema" => inside.every.push(value),
            // Items that it finds are looked at again by `unevaluatedItems`.
            "contains" => inside.every.extend([value, value]),
            _ => {}
        }
    }
    inside
}

/// A reference that may lead somewhere, but not by the rules known here.
#[derive(Clone, Copy)]
pub struct Unknown;

/// Follows the references of a document.
pub struct Resolver<'a> {
    root: &'a Value,
    /// `None` for a name that is given twice.
    anchors: HashMap<&'a str, Option<&'a Value>>,
    /// Whether parts of the document have addresses of their own, from which references count.
    has_parts: bool,
}

impl<'a> Resolver<'a> {
    pub fn new(root: &'a Value) -> Self {
        let mut resolver = Resolver { root, anchors: HashMap::new(), has_parts: false };
        // In the oldest draft `id` is a keyword, in all others the name of many a property.
        let is_old =
            root.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-04"));
        for value in values(root) {
            let Value::Object(map) = value else { continue };
            for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| map.get(*key)?.as_str()) {
                let known = resolver.anchors.entry(name).or_insert(Some(value));
                if known.is_some_and(|known| !std::ptr::eq(known, value)) {
                    *known = None;
                }
            }
            let has = |key: &str| map.get(key).is_some_and(Value::is_string);
            resolver.has_parts |=
                !std::ptr::eq(value, root) && (has("$id") || has("$schema") || (is_old && has("id")));
        }
        resolver
    }

    /// What the reference of a schema leads to; `None` if there is no reference or nothing at its end.
    pub fn target(&self, map: &Map<String, Value>) -> Result<Option<&'a Value>, Unknown> {
        let mut found = None;
        for reference in REFERENCES.iter().filter_map(|keyword| map.get(*keyword)?.as_str()) {
            match self.follow(reference)? {
                Some(_) if found.is_some() => return Err(Unknown),
                target => found = found.or(target),
            }
        }
        Ok(found)
    }

    fn follow(&self, reference: &str) -> Result<Option<&'a Value>, Unknown> {
        if reference.is_empty() {
            return Ok(None);
        }
        if self.has_parts {
            return Err(Unknown);
        }
        let own = self.root.get("$id").and_then(Value::as_str);
        let fragment = match reference.split_once('#').unwrap_or((reference, "")) {
            ("", fragment) => fragment,
            (document, fragment) if own.is_some_and(|own| own.trim_end_matches('#') == document) => fragment,
            // Nothing is fetched. The schemas of the drafts themselves are known to the validator.
            (document, _) => {
                let is_foreign = ["http://", "https://", "file:", "urn:"]
                    .iter()
                    .any(|scheme| document.starts_with(scheme));
                let is_foreign = is_foreign && own.is_none() && !document.contains("json-schema.org");
                return if is_foreign { Ok(None) } else { Err(Unknown) };
            }
        };
        match fragment.strip_prefix('/') {
            Some(pointer) => Ok(at(self.root, pointer)),
            None if fragment.is_empty() => Ok(Some(self.root)),
            None if fragment.contains('%') => Err(Unknown),
            None => self.anchors.get(fragment).map_or(Ok(None), |target| target.map(Some).ok_or(Unknown)),
        }
    }
}

/// The schema at a JSON pointer without its first slash, read as leniently as the validator reads it.
fn at<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    percent_decode_str(pointer).decode_utf8().ok()?.split('/').try_fold(root, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(&*step.replace("~1", "/").replace("~0", "~")),
    })
}

/// What a reference to a place in the document leads to, for a message.
pub fn target<'a>(root: &'a Value, map: &Map<String, Value>) -> Option<&'a Value> {
    at(root, map.get("$ref").or_else(|| map.get("$dynamicRef"))?.as_str()?.strip_prefix("#/")?)
}

/// Schemas that look at the same value, for a message.
pub fn beside<'a>(root: &'a Value, map: &'a Map<String, Value>) -> Vec<&'a Value> {
    target(root, map).into_iter().chain(kept_in(map).beside).collect()
}
