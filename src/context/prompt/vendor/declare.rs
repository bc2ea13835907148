//! One tool in the form of a vendor's API.

use super::restore::gathered;
use super::words::{parts_mut, rename_properties, types_in};
use super::{Vendor, is_vendor_name, looks_made, vendor_name};
use super::{gemini, inline, strict};
use crate::prompt::clean::{line, paragraphs, plain};
use serde_json::{Value, json};
use std::collections::HashMap;
use toolhub_types::model::{Lang, ToolSpec};

/// A tool in the form of an API.
#[derive(Clone, Debug)]
pub struct ToolDeclaration {
    pub value: Value,
    /// Arguments from a model must go through [`restore`](super::restore).
    pub changed: bool,
}

/// Longer descriptions are truncated. Only OpenAI documents a limit.
const DESCRIPTION: usize = 1_024;
const LONG_DESCRIPTION: usize = 4_000;
const LONGEST_NAME: usize = 200;

/// The API names that are not the tools' own, so that no two share one. `None` stands for a name that two would have.
pub struct VendorNames<'a>(HashMap<String, Option<&'a str>>);

impl<'a> VendorNames<'a> {
    /// For tools that are to be declared, among `all`. Most have a name that every API takes, and then the others do not matter.
    pub fn of<'b>(mut declared: impl Iterator<Item = &'b str>, all: impl Iterator<Item = &'a str>) -> Self {
        let all = if declared.all(is_vendor_name) { None } else { Some(all) };
        let mut found: HashMap<String, Option<&str>> = HashMap::new();
        for name in all.into_iter().flatten().filter(|name| looks_made(name) || !is_vendor_name(name)) {
            found.entry(vendor_name(name)).and_modify(|known| *known = None).or_insert(Some(name));
        }
        VendorNames(found)
    }

    fn get(&self, name: &str) -> Result<String, String> {
        let made = vendor_name(name);
        match self.0.get(&made) {
            // A tool's own name wins; of two derived names that are equal, neither counts.
            _ if made == name => Ok(made),
            Some(Some(known)) if *known == name => Ok(made),
            _ => Err(format!("its name for the API, '{made}', is also that of another tool")),
        }
    }
}

/// A tool in the form of an API, or the reason why that is not possible.
pub fn declare(spec: &ToolSpec, vendor: Vendor, names: &VendorNames<'_>) -> Result<ToolDeclaration, String> {
    let name = names.get(&spec.name)?;
    let mut tree = inline::tree(&spec.parameters, vendor)?;
    let renamed = clean(&mut tree)?;
    let limit =
        if matches!(vendor, Vendor::OpenAi | Vendor::OpenAiStrict) { DESCRIPTION } else { LONG_DESCRIPTION };
    let description = if name == *spec.name {
        paragraphs(&spec.description, limit)
    } else {
        paragraphs(&with_name(&spec.name, &spec.description), limit)
    };
    let (value, changed) = match vendor {
        Vendor::OpenAi => {
            declare_items(&mut tree);
            let function = json!({"name": name, "description": description, "parameters": tree});
            (json!({"type": "function", "function": function}), renamed)
        }
        Vendor::OpenAiStrict => {
            let parameters = strict::closed(gathered(tree))?;
            let function =
                json!({"name": name, "description": description, "parameters": parameters, "strict": true});
            (json!({"type": "function", "function": function}), true)
        }
        Vendor::Anthropic => {
            let has_keys = rename_keys(&mut tree, vendor)?;
            let declared = json!({"name": name, "description": description, "input_schema": tree});
            (declared, renamed || has_keys)
        }
        Vendor::Gemini => {
            let mut tree = gathered(tree);
            rename_keys(&mut tree, vendor)?;
            let mut declared = json!({"name": name, "description": description});
            // An object without properties is rejected; a function without parameters omits the field.
            if tree.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty()) {
                declared["parameters"] = gemini::openapi(tree);
            }
            (declared, true)
        }
    };
    Ok(ToolDeclaration { value, changed })
}

/// OpenAI rejects a request with an array that does not declare its items.
fn declare_items(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if types_in(map.get("type")).contains(&"array") {
        map.entry("items").or_insert_with(|| json!({}));
    }
    parts_mut(map).into_iter().for_each(declare_items);
}

/// Renames parameters, and the keys of objects inside them, to names that the API accepts; their own names go into the
/// descriptions. Returns whether any was renamed.
fn rename_keys(schema: &mut Value, vendor: Vendor) -> Result<bool, String> {
    let Some(map) = schema.as_object_mut() else { return Ok(false) };
    let mut is_changed = false;
    for part in parts_mut(map) {
        is_changed |= rename_keys(part, vendor)?;
    }
    for name in map.get_mut("required").and_then(Value::as_array_mut).into_iter().flatten() {
        *name = Value::String(vendor.key(name.as_str().unwrap_or_default()));
    }
    Ok(is_changed
        | rename_properties(map, |name, schema| {
            let key = vendor.key(name);
            if let Some(schema) = schema.as_object_mut().filter(|_| key != name) {
                let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
                schema.insert("description".into(), Value::String(with_name(name, text)));
            }
            key
        })?)
}

/// A description that starts with the name, for an API that does not accept the name itself.
fn with_name(name: &str, description: &str) -> String {
    let name = format!("\"{}\"", line(name, LONGEST_NAME, Lang::En));
    if description.trim().is_empty() { name } else { format!("{name}: {description}") }
}

/// Keywords with texts.
const TEXTS: [&str; 8] = ["title", "format", "pattern", "default", "examples", "enum", "const", "required"];

/// Takes hidden characters out of a tree, for the model of a vendor. A parameter gets its own name back in the arguments; a value
/// that is allowed with hidden characters is coerced when the arguments are checked. Returns whether names have to be changed back; fails when two become one.
fn clean(tree: &mut Value) -> Result<bool, String> {
    let Some(map) = tree.as_object_mut() else { return Ok(false) };
    let mut is_renamed = false;
    for part in parts_mut(map) {
        is_renamed |= clean(part)?;
    }
    for (_, value) in map.iter_mut().filter(|(keyword, _)| TEXTS.contains(&keyword.as_str())) {
        *value = all_plain(value.take());
    }
    Ok(is_renamed | rename_properties(map, |name, _| plain(name).into_owned())?)
}

/// The value without hidden characters in any of its texts.
fn all_plain(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(all_plain).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (plain(&key).into_owned(), all_plain(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_go() {
        let mut shown = json!({"type": "object", "properties": {"o": {"type": "object", "title": "T\u{202e}",
            "properties": {"pa\u{200b}th": {"default": "a\u{1b}[31mb", "examples": [{"x\u{200b}": "y\u{2066}"}],
            "pattern": "^a\u{200b}$", "enum": ["n\u{200b}o"]}}, "required": ["pa\u{200b}th"]}}});
        assert_eq!(clean(&mut shown), Ok(true));
        assert_eq!(
            shown["properties"]["o"],
            json!({"type": "object", "title": "T", "properties": {"path":
            {"default": "ab", "examples": [{"x": "y"}], "pattern": "^a$", "enum": ["no"]}}, "required": ["path"]})
        );
    }

    #[test]
    fn names_that_become_one_are_refused() {
        assert!(clean(&mut json!({"properties": {"a": {}, "a\u{200b}": {}}})).is_err());
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_hidden_character(title in ".{0,30}", name in ".{1,30}", default in ".{0,30}") {
            let mut shown = json!({"properties": {name: {"title": title, "default": [default]}}});
            if clean(&mut shown).is_ok() {
                let hidden = |c: char| c != '\n' && c != '\t' && toolhub_text::invisible::is_invisible(c);
                prop_assert!(!all_text(&shown).contains(hidden));
            }
        }
    }

    fn all_text(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(all_text).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| format!("{key}{}", all_text(value))).collect()
            }
            _ => String::new(),
        }
    }
}
