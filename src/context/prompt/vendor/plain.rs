//! A schema without hidden characters, for the model of a vendor; and the way back for what the model gives.
//!
//! Only texts for people change freely. A name or an allowed value that changes is changed back in the arguments.

use crate::prompt::clean::plain;
use serde_json::{Map, Value};

/// Keywords with texts or examples, which are only read.
const READ: [&str; 5] = ["title", "format", "pattern", "default", "examples"];
/// Keywords with values that the arguments must have.
const ALLOWED: [&str; 2] = ["enum", "const"];

/// The tree without hidden characters, and whether arguments have to be changed back. Fails when two names become one.
pub fn cleaned(tree: Value) -> Result<(Value, bool), String> {
    let mut cleaning = Cleaning { renamed: false };
    let tree = cleaning.schema(tree)?;
    Ok((tree, cleaning.renamed))
}

struct Cleaning {
    renamed: bool,
}

impl Cleaning {
    fn schema(&mut self, schema: Value) -> Result<Value, String> {
        let Value::Object(map) = schema else { return Ok(schema) };
        let mut out = Map::new();
        for (key, value) in map {
            let value = match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => self.properties(properties)?,
                ("required", names) => all_plain(names),
                ("anyOf" | "prefixItems", Value::Array(inner)) => {
                    Value::Array(inner.into_iter().map(|one| self.schema(one)).collect::<Result<_, _>>()?)
                }
                ("items" | "additionalProperties" | "contains", inner) => self.schema(inner)?,
                (keyword, value) if READ.contains(&keyword) => all_plain(value),
                (keyword, value) if ALLOWED.contains(&keyword) => {
                    let shown = all_plain(value.clone());
                    self.renamed |= shown != value;
                    shown
                }
                (_, value) => value,
            };
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn properties(&mut self, properties: Map<String, Value>) -> Result<Value, String> {
        let mut out = Map::new();
        for (name, schema) in properties {
            let shown = plain(&name).into_owned();
            self.renamed |= shown != name;
            if out.insert(shown.clone(), self.schema(schema)?).is_some() {
                return Err(format!("two of its parameters would be called '{shown}'"));
            }
        }
        Ok(Value::Object(out))
    }
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

/// The allowed value that the model was shown as this text.
pub fn restored_value(schemas: &[&Value], text: &str) -> Option<Value> {
    let options = || {
        schemas.iter().flat_map(|schema| {
            let several = schema.get("enum").and_then(Value::as_array);
            several.into_iter().flatten().chain(schema.get("const"))
        })
    };
    if options().any(|option| option == text) {
        return None;
    }
    options().find(|option| option.as_str().is_some_and(|option| plain(option) == text)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_go_and_values_come_back() {
        let schema = json!({"type": "object", "properties": {"o": {"type": "object", "title": "T\u{202e}",
            "properties": {"pa\u{200b}th": {"default": "a\u{1b}[31mb", "examples": [{"x\u{200b}": "y\u{2066}"}],
            "pattern": "^a\u{200b}$", "enum": ["n\u{200b}o"]}}, "required": ["pa\u{200b}th"]}}});
        let (shown, renamed) = cleaned(schema.clone()).unwrap();
        assert!(renamed);
        assert_eq!(
            shown["properties"]["o"],
            json!({"type": "object", "title": "T", "properties": {"path":
            {"default": "ab", "examples": [{"x": "y"}], "pattern": "^a$", "enum": ["no"]}}, "required": ["path"]})
        );
        let inner = &schema["properties"]["o"];
        let field = &inner["properties"]["pa\u{200b}th"];
        assert_eq!(restored_value(&[field], "no"), Some(json!("n\u{200b}o")));
    }

    #[test]
    fn names_that_become_one_are_refused() {
        assert!(cleaned(json!({"properties": {"a": {}, "a\u{200b}": {}}})).is_err());
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_hidden_character(title in ".{0,30}", name in ".{1,30}", default in ".{0,30}") {
            let schema = json!({"properties": {name: {"title": title, "default": [default]}}});
            if let Ok((shown, _)) = cleaned(schema) {
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
