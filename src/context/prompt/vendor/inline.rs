//! A schema as a self-contained tree: references inlined, `allOf` merged, an object at the top.

use super::Vendor;
use super::words::add_words;
use crate::prompt::clean::{line, paragraphs};
use crate::prompt::schema::SchemaShape;
use crate::prompt::types::Types;
use serde_json::{Map, Value, json};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::fmt;
use toolhub_types::model::Lang;

const DEEPEST: usize = 12;
const MOST: usize = 3_000;
const DESCRIPTION: usize = 1_000;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

type Object = Map<String, Value>;
type Fits = fn(&Value) -> bool;

/// Where in the schema, and how deep.
struct Pointer {
    path: String,
    depth: usize,
}

impl Pointer {
    fn below(&self, step: &str) -> Pointer {
        Pointer { path: format!("{}/{step}", self.path), depth: self.depth + 1 }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "the top" } else { &self.path })
    }
}

/// Keywords whose value is a schema.
const SCHEMA: [&str; 3] = ["items", "additionalProperties", "contains"];
/// Keywords that are copied, in this order, if their value has the right type.
const PLAIN: [(&str, Fits); 9] = [
    ("title", Value::is_string),
    ("default const", |_| true),
    ("format pattern", Value::is_string),
    ("nullable", Value::is_boolean),
    ("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", Value::is_number),
    ("minLength maxLength minItems maxItems", Value::is_u64),
    ("uniqueItems", Value::is_boolean),
    ("minProperties maxProperties", Value::is_u64),
    ("examples", Value::is_array),
];

/// The tree, or what is wrong with the schema. Parameters keep their names, except in text for the vendor's model.
pub fn tree(schema: &Value, vendor: Vendor) -> Result<Value, String> {
    if !schema.is_object() {
        return Err("its schema is not a JSON object".into());
    }
    let mut inlining = Inlining { left: MOST };
    let shape = SchemaShape::of(schema);
    // Arguments are an object even if the schema allows none.
    let top = Pointer { path: String::new(), depth: 0 };
    let mut tree = inlining.schema(&shape, &top)?.unwrap_or_default();
    let types = shape.types();
    if !types.is_empty() && !types.contains(&"object") {
        // Arguments are always an object, whatever the schema says.
        let properties = json!({"input": tree});
        return Ok(json!({"type": "object", "properties": properties, "required": ["input"]}));
    }
    tree.insert("type".into(), json!("object"));
    for key in ["enum", "const", "nullable"] {
        tree.remove(key);
    }
    gather_alternatives(&mut tree, vendor);
    name_what_is_required(&mut tree);
    tree.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(tree))
}

/// No API accepts alternatives at the top: they become one object with all parameters, requiring those that all require.
fn gather_alternatives(tree: &mut Object, vendor: Vendor) {
    let Some(Value::Array(branches)) = tree.remove("anyOf") else { return };
    let mut words: Vec<String> = Vec::new();
    let mut shared: Option<Vec<Value>> = None;
    let mut properties = match tree.remove("properties") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    for branch in branches {
        let required = branch.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let names: Vec<String> =
            required.iter().filter_map(Value::as_str).map(|name| vendor.key(name)).collect();
        words.push(line(&names.join(" + "), 200, Lang::En).into_owned());
        if let Value::Object(mut branch) = branch
            && let Some(Value::Object(more)) = branch.remove("properties")
        {
            for (name, schema) in more {
                properties.entry(name).or_insert(schema);
            }
        }
        shared = Some(match shared {
            Some(before) => before.into_iter().filter(|name| required.contains(name)).collect(),
            None => required,
        });
    }
    if let Some(own) = tree.get_mut("required").and_then(Value::as_array_mut) {
        own.extend(shared.unwrap_or_default());
    } else if let Some(shared) = shared.filter(|shared| !shared.is_empty()) {
        tree.insert("required".into(), Value::Array(shared));
    }
    tree.insert("properties".into(), Value::Object(properties));
    words.retain(|one| !one.is_empty());
    if words.len() > 1 {
        add_words(tree, &format!("give one of these: {}", words.join("; ")));
    }
}

/// The same below the top, for an API whose unions cannot have properties and that has no `const`. Names stay as they are.
pub fn gather_in_object(schema: &mut Object) {
    if let Some(only) = schema.remove("const") {
        schema.insert("enum".into(), json!([only]));
    }
    if schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty()) {
        gather_alternatives(schema, Vendor::OpenAi);
        name_what_is_required(schema);
    }
}

/// Adds required parameters that are not described: a model that does not see them would never give them.
fn name_what_is_required(object: &mut Object) {
    let Some(Value::Array(required)) = object.get("required").cloned() else { return };
    let properties = object.entry("properties").or_insert_with(|| json!({})).as_object_mut();
    if let Some(properties) = properties {
        for name in required.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
}

struct Inlining {
    /// The number of schemas that may still be described.
    left: usize,
}

impl Inlining {
    /// A part of a schema; `None` if no value fits it.
    fn part<'a>(
        &mut self,
        shape: &SchemaShape<'a>,
        schema: &'a Value,
        at: &Pointer,
    ) -> Result<Option<Value>, String> {
        expect_schema(schema, at)?;
        Ok(self.schema(&shape.below(schema), at)?.map(Value::Object))
    }

    /// `None` if no value fits: the part is left out where it is one of several, instead of allowing anything there.
    fn schema(&mut self, shape: &SchemaShape<'_>, at: &Pointer) -> Result<Option<Object>, String> {
        if shape.never {
            return Ok(None);
        }
        let mut out = Map::new();
        self.left = self.left.saturating_sub(1);
        let types = types(shape, at)?;
        let is_open = shape.repeats || at.depth >= DEEPEST || self.left == 0;
        match types.as_slice() {
            // Contains itself: anything is allowed.
            [] if shape.repeats => drop(out.insert("type".into(), json!("object"))),
            [] => {}
            [one] => drop(out.insert("type".into(), json!(one))),
            several => drop(out.insert("type".into(), json!(several))),
        }
        if let Some(text) = shape.text("description") {
            out.insert("description".into(), Value::String(paragraphs(text, DESCRIPTION)));
        } else if let Some(name) = shape.name().filter(|_| shape.repeats) {
            out.insert("description".into(), Value::String(format!("{} as above", line(name, 60, Lang::En))));
        }
        if is_open {
            // Null may be given in place of what is not described here.
            let nullable = shape.get("nullable").filter(|flag| flag.is_boolean());
            out.extend(nullable.map(|flag| ("nullable".into(), flag.clone())));
            return Ok(Some(out));
        }
        if let Some(odd) = shape.get("enum").filter(|options| !options.is_array()) {
            return Err(format!("its schema has an enum at {at} that is {}, not a list", kind(odd)));
        }
        if let Some(options) = shape.options().filter(|options| !options.is_empty()) {
            let mut different: Vec<Value> = Vec::with_capacity(options.len());
            for option in options.iter() {
                if !different.contains(option) {
                    different.push(option.clone());
                }
            }
            out.insert("enum".into(), Value::Array(different));
        }
        for (keys, fits) in PLAIN {
            let given = keys.split(' ').filter_map(|key| Some((key, shape.get(key)?)));
            let fitting = given.filter(|(_, value)| fits(value));
            out.extend(fitting.map(|(key, value)| (key.to_owned(), value.clone())));
        }
        let is_possible = self.object(&mut out, shape, at)? && self.parts(&mut out, shape, at)?;
        Ok(is_possible.then_some(out))
    }

    /// The properties; false if a required one cannot have a value.
    fn object(&mut self, out: &mut Object, shape: &SchemaShape<'_>, at: &Pointer) -> Result<bool, String> {
        for layer in shape.layers() {
            let mappings = layer.get("properties").filter(|value| !value.is_object());
            let lists = layer.get("required").filter(|value| !value.is_array());
            for (key, odd, expected) in [("properties", mappings, "a mapping"), ("required", lists, "a list")]
            {
                // Draft 3 had `required: true` inside a property; it has no meaning today.
                if let Some(odd) = odd.filter(|value| !value.is_boolean()) {
                    let odd = kind(odd);
                    return Err(format!("its schema has {key} at {at} that are {odd}, not {expected}"));
                }
            }
        }
        let properties = shape.properties();
        if !properties.is_empty() || shape.get("properties").is_some() {
            let mut inner = Map::new();
            for (name, schema) in properties {
                let at = at.below(&line(name, 60, Lang::En));
                expect_schema(schema, &at)?;
                match self.schema(&shape.property(name), &at)? {
                    Some(property) => drop(inner.insert(name.to_owned(), Value::Object(property))),
                    None if shape.requires(name) => return Ok(false),
                    None => {}
                }
            }
            out.insert("properties".into(), Value::Object(inner));
        }
        let lists = shape.layers().filter_map(|layer| layer.get("required")?.as_array());
        let mut seen = HashSet::new();
        let required: Vec<&str> =
            lists.flatten().filter_map(Value::as_str).filter(|name| seen.insert(*name)).collect();
        if !required.is_empty() {
            out.insert("required".into(), json!(required));
        }
        if shape.types().contains(&"object") {
            name_what_is_required(out);
        }
        Ok(true)
    }

    /// Items, further keys and branches; false if there are branches and none can have a value.
    fn parts(&mut self, out: &mut Object, shape: &SchemaShape<'_>, at: &Pointer) -> Result<bool, String> {
        for key in SCHEMA {
            let is_others = key == "additionalProperties";
            let made = match shape.get(key) {
                Some(schema @ Value::Object(_)) => match self.part(shape, schema, &at.below(key))? {
                    None if is_others => Some(Value::Bool(false)),
                    part => part,
                },
                other => other.filter(|flag| is_others && flag.is_boolean()).cloned(),
            };
            out.extend(made.map(|made| (key.to_owned(), made)));
        }
        self.open_for_patterns(out, shape, at)?;
        let tuple = shape.get("prefixItems").or_else(|| shape.get("items")).and_then(Value::as_array);
        if let Some(list) = tuple.filter(|list| !list.is_empty()) {
            let at = at.below("prefixItems");
            let parts: Result<Vec<_>, String> =
                list.iter().map(|schema| self.part(shape, schema, &at)).collect();
            // No list reaches beyond a place that cannot have a value.
            let parts: Vec<Value> = parts?.into_iter().map_while(|part| part).collect();
            if !parts.is_empty() {
                out.insert("prefixItems".into(), Value::Array(parts));
            }
        }
        if shape.has_branches() {
            let at = at.below("anyOf");
            shape.unions().flatten().try_for_each(|branch| expect_schema(branch, &at))?;
            let mut below: Vec<Value> = Vec::new();
            for branch in shape.branches() {
                below.extend(self.schema(&branch, &at)?.map(Value::Object));
            }
            if below.is_empty() {
                return Ok(false);
            }
            out.insert("anyOf".into(), Value::Array(below));
        }
        Ok(true)
    }

    /// Models tend to leave an object empty if its keys are only given by patterns. So it is left open, and the description
    /// names the patterns.
    fn open_for_patterns(
        &mut self,
        out: &mut Object,
        shape: &SchemaShape<'_>,
        at: &Pointer,
    ) -> Result<(), String> {
        let Some(words) = Types::new(Lang::En).patterns(shape, 0) else { return Ok(()) };
        let patterns = shape.get("patternProperties").and_then(Value::as_object);
        let mut values: Vec<Value> = Vec::new();
        for schema in patterns.into_iter().flat_map(Map::values) {
            values.extend(self.part(shape, schema, &at.below("patternProperties"))?);
        }
        match out.remove("additionalProperties") {
            None | Some(Value::Bool(true)) => values = vec![json!({})],
            Some(Value::Bool(false)) => {}
            Some(others) => values.push(others),
        }
        let open = match values.len() {
            0 => Value::Bool(false),
            1 => values.remove(0),
            _ => json!({"anyOf": values}),
        };
        out.insert("additionalProperties".into(), open);
        add_words(out, &words);
        Ok(())
    }
}

fn expect_schema(schema: &Value, at: &Pointer) -> Result<(), String> {
    if schema.is_object() || schema.is_boolean() {
        return Ok(());
    }
    Err(format!("its schema has {} at {at} where a schema is expected", kind(schema)))
}

fn types<'a>(shape: &SchemaShape<'a>, at: &Pointer) -> Result<SmallVec<[&'a str; 2]>, String> {
    let given = shape.get("type");
    let several = given.and_then(Value::as_array).map(|several| several.iter().collect());
    let mut named = several.unwrap_or_else(|| Vec::from_iter(given)).into_iter();
    let Some(odd) = named.find(|one| one.as_str().is_none_or(|one| !TYPES.contains(&one))) else {
        return Ok(shape.types());
    };
    let odd = odd.as_str().map_or_else(|| odd.to_string(), str::to_owned);
    Err(format!("its schema has the type {} at {at}, which JSON does not have", line(&odd, 60, Lang::En)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
