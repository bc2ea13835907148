//! A schema as a self-contained tree: references inlined, `allOf` merged, an object at the top.

use super::api::Vendor;
use super::words::add_words;
use crate::prompt::clean::{line, paragraphs};
use crate::prompt::schema::SchemaShape;
use crate::prompt::types::Types;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use toolhub_types::model::Lang;

const DEEPEST: usize = 12;
const MOST: usize = 3_000;
const DESCRIPTION: usize = 1_000;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

type Fits = fn(&Value) -> bool;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 3] = ["items", "additionalProperties", "contains"];
/// Keywords that are copied if their value has the right type.
const PLAIN: [(&str, Fits); 19] = [
    ("title", Value::is_string),
    ("default", |_| true),
    ("const", |_| true),
    ("format", Value::is_string),
    ("pattern", Value::is_string),
    ("nullable", Value::is_boolean),
    ("minimum", Value::is_number),
    ("maximum", Value::is_number),
    ("exclusiveMinimum", Value::is_number),
    ("exclusiveMaximum", Value::is_number),
    ("multipleOf", Value::is_number),
    ("minLength", Value::is_u64),
    ("maxLength", Value::is_u64),
    ("minItems", Value::is_u64),
    ("maxItems", Value::is_u64),
    ("uniqueItems", Value::is_boolean),
    ("minProperties", Value::is_u64),
    ("maxProperties", Value::is_u64),
    ("examples", Value::is_array),
];

/// The tree, or what is wrong with the schema. Parameters keep their names, except in text for the vendor's model.
pub fn tree(schema: &Value, vendor: Vendor) -> Result<Value, String> {
    if !schema.is_object() {
        return Err("its schema is not a JSON object".into());
    }
    let mut inlining = Inlining { root: schema, left: MOST };
    let shape = SchemaShape::of(schema, schema);
    // Arguments are an object even if the schema allows none.
    let mut tree = inlining.schema(&shape, "", 0)?.unwrap_or_default();
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
fn gather_alternatives(tree: &mut Map<String, Value>, vendor: Vendor) {
    let branches = match (tree.remove("anyOf"), tree.remove("oneOf")) {
        (Some(Value::Array(branches)), _) | (_, Some(Value::Array(branches))) => branches,
        _ => return,
    };
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
        words.push(line(&names.join(" + "), 200, Lang::En));
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

/// The same below the top, for an API whose unions cannot have properties. Names stay as they are.
pub fn gather_in_object(schema: &mut Map<String, Value>) {
    if schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty()) {
        gather_alternatives(schema, Vendor::OpenAi);
        name_what_is_required(schema);
    }
}

/// Adds required parameters that are not described: a model that does not see them would never give them.
fn name_what_is_required(object: &mut Map<String, Value>) {
    let Some(Value::Array(required)) = object.get("required").cloned() else { return };
    let properties = object.entry("properties").or_insert_with(|| json!({})).as_object_mut();
    if let Some(properties) = properties {
        for name in required.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
}

struct Inlining<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Inlining<'a> {
    /// A part of a schema; `None` if no value fits it.
    fn below(
        &mut self,
        shape: &SchemaShape<'a>,
        schema: &'a Value,
        path: &str,
        depth: usize,
    ) -> Result<Option<Value>, String> {
        expect_schema(schema, path)?;
        Ok(self.schema(&shape.below(self.root, schema), path, depth + 1)?.map(Value::Object))
    }

    /// `None` if no value fits: the part is left out where it is one of several, instead of allowing anything there.
    fn schema(
        &mut self,
        shape: &SchemaShape<'a>,
        path: &str,
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, String> {
        if shape.never {
            return Ok(None);
        }
        let mut out = Map::new();
        self.left = self.left.saturating_sub(1);
        let types = types(shape, path)?;
        let is_open = shape.repeats || depth >= DEEPEST || self.left == 0;
        match (types.as_slice(), is_open) {
            // Contains itself, or too deep: anything is allowed.
            ([], true) if shape.repeats => drop(out.insert("type".into(), json!("object"))),
            ([], _) => {}
            ([one], _) => drop(out.insert("type".into(), json!(one))),
            (several, _) => drop(out.insert("type".into(), json!(several))),
        }
        if let Some(text) = shape.text("description") {
            out.insert("description".into(), Value::String(paragraphs(text, DESCRIPTION)));
        } else if let Some(name) = shape.name().filter(|_| shape.repeats) {
            out.insert("description".into(), Value::String(format!("{} as above", line(name, 60, Lang::En))));
        }
        if is_open {
            // Null may be given in place of what is not described here.
            out.extend(
                shape
                    .get("nullable")
                    .filter(|flag| flag.is_boolean())
                    .map(|flag| ("nullable".into(), flag.clone())),
            );
            return Ok(Some(out));
        }
        if let Some(odd) = shape.get("enum").filter(|options| !options.is_array()) {
            return Err(format!("its schema has an enum at {path} that is {}, not a list", kind(odd)));
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
        for (key, fits) in PLAIN {
            if let Some(value) = shape.get(key).filter(|value| fits(value)) {
                out.insert(key.into(), value.clone());
            }
        }
        let is_possible =
            self.object(&mut out, shape, path, depth)? && self.parts(&mut out, shape, path, depth)?;
        Ok(is_possible.then_some(out))
    }

    /// The properties; false if a required one cannot have a value.
    fn object(
        &mut self,
        out: &mut Map<String, Value>,
        shape: &SchemaShape<'a>,
        path: &str,
        depth: usize,
    ) -> Result<bool, String> {
        for layer in shape.layers() {
            for (key, expected) in [("properties", "a mapping"), ("required", "a list")] {
                let fits =
                    |value: &Value| if key == "required" { value.is_array() } else { value.is_object() };
                // Draft 3 had `required: true` inside a property; it has no meaning today.
                if let Some(odd) = layer.get(key).filter(|value| !fits(value) && !value.is_boolean()) {
                    return Err(format!(
                        "its schema has {key} at {} that are {}, not {expected}",
                        place(path),
                        kind(odd)
                    ));
                }
            }
        }
        let properties = shape.properties();
        if !properties.is_empty() || shape.get("properties").is_some() {
            let mut inner = Map::new();
            for (name, schema) in properties {
                let path = format!("{path}/{}", line(name, 60, Lang::En));
                expect_schema(schema, &path)?;
                match self.schema(&shape.property(self.root, name), &path, depth + 1)? {
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
    fn parts(
        &mut self,
        out: &mut Map<String, Value>,
        shape: &SchemaShape<'a>,
        path: &str,
        depth: usize,
    ) -> Result<bool, String> {
        for key in SCHEMA {
            match shape.get(key) {
                Some(schema @ Value::Object(_)) => {
                    match self.below(shape, schema, &format!("{path}/{key}"), depth)? {
                        Some(below) => drop(out.insert(key.into(), below)),
                        None if key == "additionalProperties" => {
                            drop(out.insert(key.into(), Value::Bool(false)))
                        }
                        None => {}
                    }
                }
                Some(Value::Bool(flag)) if key == "additionalProperties" => {
                    out.insert(key.into(), Value::Bool(*flag));
                }
                _ => {}
            }
        }
        self.open_for_patterns(out, shape, path, depth)?;
        let tuple = shape.get("prefixItems").or_else(|| shape.get("items")).and_then(Value::as_array);
        if let Some(list) = tuple.filter(|list| !list.is_empty()) {
            let below = self.list(shape, list, &format!("{path}/prefixItems"), depth)?;
            // No list reaches beyond a place that cannot have a value.
            let below: Vec<Value> = below.into_iter().map_while(|place| place).collect();
            if !below.is_empty() {
                out.insert("prefixItems".into(), Value::Array(below));
            }
        }
        if shape.has_branches() {
            let path = format!("{path}/anyOf");
            shape.unions().flatten().try_for_each(|branch| expect_schema(branch, &path))?;
            let mut below: Vec<Value> = Vec::new();
            for branch in shape.branches(self.root) {
                below.extend(self.schema(&branch, &path, depth + 1)?.map(Value::Object));
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
        out: &mut Map<String, Value>,
        shape: &SchemaShape<'a>,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let Some(words) = Types::new(self.root, Lang::En).patterns(shape, 0) else { return Ok(()) };
        let patterns = shape.get("patternProperties").and_then(Value::as_object);
        let mut values: Vec<Value> = Vec::new();
        for schema in patterns.into_iter().flat_map(Map::values) {
            values.extend(self.below(shape, schema, &format!("{path}/patternProperties"), depth)?);
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

    fn list(
        &mut self,
        shape: &SchemaShape<'a>,
        list: &'a [Value],
        path: &str,
        depth: usize,
    ) -> Result<Vec<Option<Value>>, String> {
        list.iter().map(|schema| self.below(shape, schema, path, depth)).collect()
    }
}

fn expect_schema(schema: &Value, path: &str) -> Result<(), String> {
    if schema.is_object() || schema.is_boolean() {
        return Ok(());
    }
    Err(format!("its schema has {} at {path} where a schema is expected", kind(schema)))
}

fn types<'a>(shape: &SchemaShape<'a>, path: &str) -> Result<Vec<&'a str>, String> {
    let odd = match shape.get("type") {
        None => None,
        Some(Value::String(one)) => Some(one.as_str()).filter(|one| !TYPES.contains(one)).map(str::to_owned),
        Some(Value::Array(several)) => several
            .iter()
            .find(|one| !one.as_str().is_some_and(|one| TYPES.contains(&one)))
            .map(|one| one.to_string()),
        Some(other) => Some(other.to_string()),
    };
    match odd {
        Some(odd) => Err(format!(
            "its schema has the type {} at {}, which JSON does not have",
            line(&odd, 60, Lang::En),
            place(path)
        )),
        None => Ok(shape.types().into_vec()),
    }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the top" } else { path }
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
