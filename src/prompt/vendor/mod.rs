//! Tools in the form of each vendor's API, cleaned to what it accepts.
//!
//! | vendor | beyond what all take |
//! |---|---|
//! | OpenAI | descriptions of 1,024 characters |
//! | OpenAI, strict | every object closed, every parameter required (optional ones may be null), few keywords |
//! | Anthropic | an object at the top, without alternatives; names of parameters of letters, digits, `_`, `.`, `-` |
//! | Gemini | a part of OpenAPI: no references, one type each, only text in enums, no open objects |
//!
//! All take a tree without references, so that is made first; what a vendor has no keyword for is put into words. One bad
//! tool would have the whole request refused: it is left out, with the reason.

mod gemini;
mod inline;
mod names;
mod restore;
mod strict;

pub use names::{is_vendor_name, original_name, vendor_name};
pub use restore::restore;

use super::Lang;
use super::clean::{line, paragraphs};
use super::schema::Shape;
use super::types;
use crate::model::ToolSpec;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Whose API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    OpenAi,
    OpenAiStrict,
    Anthropic,
    Gemini,
}

impl Vendor {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "openai" => Some(Vendor::OpenAi),
            "openai_strict" => Some(Vendor::OpenAiStrict),
            "anthropic" => Some(Vendor::Anthropic),
            "gemini" => Some(Vendor::Gemini),
            _ => None,
        }
    }

    /// What its models know a parameter by.
    fn key(self, name: &str) -> String {
        match self {
            Vendor::OpenAi | Vendor::OpenAiStrict => name.to_owned(),
            Vendor::Anthropic => names::key(name, ".-"),
            Vendor::Gemini => names::key(name, ""),
        }
    }
}

/// One tool for an API.
#[derive(Clone, Debug)]
pub struct Declared {
    pub value: Value,
    /// What a model gives has to go through [`restore`].
    pub changed: bool,
}

/// Longer descriptions are cut; only OpenAI names a limit.
const DESCRIPTION: usize = 1_024;
const LONG_DESCRIPTION: usize = 4_000;
const LONGEST_NAME: usize = 200;

/// The names of all tools for the APIs, so that no two get the same one.
pub struct Names<'a>(HashMap<String, Option<&'a str>>);

impl<'a> Names<'a> {
    pub fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let mut found: HashMap<String, Option<&str>> = HashMap::new();
        for name in names {
            let made = vendor_name(name);
            let is_own = made == name;
            let entry = found.entry(made);
            let taken = matches!(entry, std::collections::hash_map::Entry::Occupied(_));
            let known = entry.or_insert(Some(name));
            if taken {
                // Its own name is always its own; two that were made alike are nobody's.
                *known = if is_own { Some(name) } else { known.filter(|known| is_vendor_name(known)) };
            }
        }
        Names(found)
    }

    fn get(&self, name: &str) -> Result<String, String> {
        let made = vendor_name(name);
        match self.0.get(&made) {
            Some(Some(known)) if *known == name => Ok(made),
            _ => Err(format!("its name for the API, '{made}', is also that of another tool")),
        }
    }
}

/// A tool for an API, or why it cannot be.
pub fn declare(spec: &ToolSpec, vendor: Vendor, names: &Names<'_>) -> Result<Declared, String> {
    let name = names.get(&spec.name)?;
    let mut tree = inline::tree(&spec.parameters, vendor)?;
    let limit =
        if matches!(vendor, Vendor::OpenAi | Vendor::OpenAiStrict) { DESCRIPTION } else { LONG_DESCRIPTION };
    let description = if name == *spec.name {
        paragraphs(&spec.description, limit)
    } else {
        paragraphs(&with_name(&spec.name, &spec.description), limit)
    };
    let (value, changed) = match vendor {
        Vendor::OpenAi => {
            say_what_lists_hold(&mut tree);
            let function = json!({"name": name, "description": description, "parameters": tree});
            (json!({"type": "function", "function": function}), false)
        }
        Vendor::OpenAiStrict => {
            let parameters = strict::closed(tree)?;
            let function =
                json!({"name": name, "description": description, "parameters": parameters, "strict": true});
            (json!({"type": "function", "function": function}), true)
        }
        Vendor::Anthropic => {
            let (tree, renamed) = with_keys(tree, vendor)?;
            (json!({"name": name, "description": description, "input_schema": tree}), renamed)
        }
        Vendor::Gemini => {
            let (tree, _) = with_keys(tree, vendor)?;
            let mut declared = json!({"name": name, "description": description});
            // An object without properties is refused; a function without parameters has no such field.
            if tree.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty()) {
                declared["parameters"] = gemini::openapi(tree);
            }
            (declared, true)
        }
    };
    Ok(Declared { value, changed })
}

/// OpenAI refuses a list that does not say what is in it, and the whole request with it.
fn say_what_lists_hold(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    let is_list = match map.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == "array"),
        one => one.is_some_and(|one| one == "array"),
    };
    if is_list {
        map.entry("items").or_insert_with(|| json!({}));
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(inner)) => inner.values_mut().for_each(say_what_lists_hold),
            ("anyOf" | "prefixItems", Value::Array(inner)) => inner.iter_mut().for_each(say_what_lists_hold),
            ("items" | "additionalProperties" | "contains", inner) => say_what_lists_hold(inner),
            _ => {}
        }
    }
}

/// The parameters under names that the API takes; their own are in the descriptions.
fn with_keys(mut tree: Value, vendor: Vendor) -> Result<(Value, bool), String> {
    let Some(properties) = tree.get_mut("properties").and_then(Value::as_object_mut) else {
        return Ok((tree, false));
    };
    let (mut renamed, mut is_changed) = (Map::new(), false);
    for (name, mut schema) in std::mem::take(properties) {
        let key = vendor.key(&name);
        if key != name
            && let Some(schema) = schema.as_object_mut()
        {
            is_changed = true;
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            schema.insert("description".into(), Value::String(with_name(&name, text)));
        }
        if renamed.insert(key.clone(), schema).is_some() {
            return Err(format!("two of its parameters would be called '{key}'"));
        }
    }
    *properties = renamed;
    for name in tree.get_mut("required").and_then(Value::as_array_mut).into_iter().flatten() {
        *name = Value::String(vendor.key(name.as_str().unwrap_or_default()));
    }
    Ok((tree, is_changed))
}

/// A description that begins with the name, where the API does not take the name itself.
fn with_name(name: &str, description: &str) -> String {
    let name = format!("\"{}\"", line(name, LONGEST_NAME, Lang::En));
    if description.trim().is_empty() { name } else { format!("{name}: {description}") }
}

/// Takes out all keywords but those that `keep` allows, and says in the description what is lost.
fn put_into_words(map: &mut Map<String, Value>, keep: impl Fn(&str, &Value) -> bool) {
    let (kept, lost): (Map<_, _>, Map<_, _>) =
        std::mem::take(map).into_iter().partition(|(key, value)| keep(key, value));
    *map = kept;
    if lost.is_empty() {
        return;
    }
    let lost = Value::Object(lost);
    let shape = Shape::of(&lost, &lost);
    let mut words = types::limits(&shape, Lang::En);
    if let Some(options) = shape.get("enum").and_then(Value::as_array) {
        words.insert(0, types::options_in_words(options, Lang::En));
    }
    if let Some(only) = shape.get("const") {
        words.insert(0, format!("always {}", types::literal(only)));
    }
    if let Some(default) = shape.get("default").filter(|default| !default.is_null()) {
        words.push(format!("default {}", types::default(default)));
    }
    if !words.is_empty() {
        add_words(map, &words.join(", "));
    }
}

/// Adds `(words)` to a description.
fn add_words(map: &mut Map<String, Value>, words: &str) {
    let text =
        match map.get("description").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => format!("{text} ({words})"),
            None => words.to_owned(),
        };
    map.insert("description".into(), Value::String(text));
}

/// The type of all values of an enum, when it is one.
fn common_type(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
    };
    let mut names = values.iter().map(name);
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}
