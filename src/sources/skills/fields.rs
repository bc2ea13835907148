//! The fields of the front matter, by the rules of the format.
//!
//! A skill that could not be shown to a model, or could pass for another, is refused. Common mistakes of real skills are
//! accepted, with a note.

use crate::mcp::config::kind;
use crate::mcp::wire::clean;
use serde_json::{Map, Value};
use toolhub_types::error::clip;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
/// Longer values are refused.
const LONGEST_NAME: usize = 200;
const LONGEST_DESCRIPTION: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillFields {
    pub name: String,
    /// Without escapes and invisible characters.
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: Map<String, Value>,
    pub allowed_tools: Vec<String>,
    /// `disable-model-invocation`: only the program and its user call it.
    pub is_hidden: bool,
}

impl SkillFields {
    /// Reads the fields of the skill in the folder `folder`; mistakes are added to `notes`.
    pub fn read(given: &Map<String, Value>, folder: &str, notes: &mut Vec<String>) -> Result<Self, String> {
        let mut reader = FieldReader { given, notes };
        Ok(SkillFields {
            name: reader.name(folder)?,
            description: reader.description()?,
            license: reader.text("license", usize::MAX),
            compatibility: reader.text("compatibility", MAX_COMPATIBILITY),
            metadata: reader.metadata(),
            allowed_tools: reader.allowed_tools(),
            is_hidden: reader.flag("disable-model-invocation"),
        })
    }
}

struct FieldReader<'a> {
    given: &'a Map<String, Value>,
    notes: &'a mut Vec<String>,
}

impl<'a> FieldReader<'a> {
    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.given.get(key).filter(|value| !value.is_null())
    }

    /// Notes a text that is longer than the format allows.
    fn check_length(&mut self, key: &str, text: &str, most: usize) {
        let length = text.chars().count();
        if length > most {
            self.note(format!("its {key} has {length} characters, the format allows {most}"));
        }
    }

    /// Notes a value that is left out.
    fn wrong<T: Default>(&mut self, key: &str, expected: &str, value: &Value) -> T {
        self.note(format!("its {key} must be {expected}, got {}", kind(value)));
        T::default()
    }

    fn name(&mut self, folder: &str) -> Result<String, String> {
        let name = match self.value("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
            None | Some(Value::String(_)) => {
                self.note("it has no name, so its folder's name is used");
                folder.to_owned()
            }
            Some(Value::Number(number)) => {
                self.note("its name is a number; put it in quotes");
                number.to_string()
            }
            Some(other) => return Err(format!("its name must be text, got {}", kind(other))),
        };
        let length = name.chars().count();
        // With a slash it could pass for a skill of a server, which is named `server/skill`.
        let is_odd = |c: char| c == '/' || c.is_control();
        if name.is_empty() || name.contains(is_odd) || clean(&name, usize::MAX) != name {
            return Err(format!("its name {:?} has characters that a name may not contain", clip(&name)));
        }
        if length > LONGEST_NAME {
            return Err(format!("its name has {length} characters, {MAX_NAME} are allowed"));
        }
        self.check_length("name", &name, MAX_NAME);
        if !is_proper(&name) {
            self.note(format!(
                "its name '{name}' should consist of lower-case letters and digits, with single hyphens between them"
            ));
        }
        if name != folder {
            self.note(format!("its name '{name}' should match its folder, '{}'", clean(folder, 100)));
        }
        Ok(name)
    }

    fn description(&mut self) -> Result<String, String> {
        let text = match self.value("description") {
            Some(Value::String(text)) => clean(text, LONGEST_DESCRIPTION).trim().to_owned(),
            None => String::new(),
            Some(other) => return Err(format!("its description must be text, got {}", kind(other))),
        };
        if text.is_empty() {
            return Err("it has no description; say when to use it".into());
        }
        self.check_length("description", &text, MAX_DESCRIPTION);
        Ok(text)
    }

    fn flag(&mut self, key: &str) -> bool {
        match self.value(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
            Some(other) => self.wrong(key, "true or false", other),
        }
    }

    fn text(&mut self, key: &str, most: usize) -> Option<String> {
        let value = self.value(key)?;
        let Value::String(text) = value else { return self.wrong(key, "text", value) };
        let text = clean(text, LONGEST_DESCRIPTION).trim().to_owned();
        self.check_length(key, &text, most);
        Some(text).filter(|text| !text.is_empty())
    }

    /// Strings; a number or a boolean is a string without quotes.
    fn metadata(&mut self) -> Map<String, Value> {
        let entries = match self.value("metadata") {
            None => return Map::new(),
            Some(Value::Object(entries)) => entries,
            Some(other) => return self.wrong("metadata", "a mapping", other),
        };
        let nested = |value: &Value| value.is_array() || value.is_object();
        if let Some((key, _)) = entries.iter().find(|(_, value)| nested(value)) {
            self.note(format!("its metadata '{}' should be text", clean(key, 60)));
        }
        let as_text = |value: &Value| match value {
            Value::Number(_) | Value::Bool(_) => Value::String(value.to_string()),
            other => other.clone(),
        };
        entries.iter().map(|(key, value)| (key.clone(), as_text(value))).collect()
    }

    /// A list, or a text with the tools separated by spaces (or commas, as some authors do), except inside parentheses.
    fn allowed_tools(&mut self) -> Vec<String> {
        match self.value("allowed-tools") {
            None => Vec::new(),
            Some(Value::String(text)) => {
                let mut depth = 0_i32;
                let between = |c: char| {
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    depth <= 0 && (c == ',' || c.is_whitespace())
                };
                text.split(between).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
            }
            Some(Value::Array(tools)) if tools.iter().all(Value::is_string) => {
                tools.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(other) => self.wrong("allowed-tools", "text or a list of texts", other),
        }
    }
}

fn is_proper(name: &str) -> bool {
    let is_fit = |c: char| c.is_numeric() || c.is_alphabetic() && !c.is_uppercase();
    name.split('-').all(|part| !part.is_empty() && part.chars().all(is_fit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(given: Value) -> (Result<SkillFields, String>, Vec<String>) {
        let mut notes = Vec::new();
        let fields = SkillFields::read(given.as_object().unwrap(), "pdf", &mut notes);
        (fields, notes)
    }

    #[test]
    fn a_skill_by_the_rules_has_all_its_fields_and_nothing_odd() {
        let (fields, notes) = read(json!({
            "name": "pdf", "description": " Fill forms. ", "license": "MIT", "compatibility": "Needs git",
            "metadata": {"author": "me", "version": 1.5}, "allowed-tools": "Bash(git log:*) Read", "unknown": [1],
        }));
        let fields = fields.unwrap();
        assert_eq!((fields.name.as_str(), fields.description.as_str()), ("pdf", "Fill forms."));
        assert_eq!(
            (fields.license.as_deref(), fields.compatibility.as_deref()),
            (Some("MIT"), Some("Needs git"))
        );
        assert_eq!(fields.metadata.get("version"), Some(&json!("1.5")));
        assert_eq!(fields.allowed_tools, ["Bash(git log:*)", "Read"]);
        assert!(notes.is_empty(), "{notes:?}");
        let (fields, _) =
            read(json!({"name": "pdf", "description": "d", "allowed-tools": ["Read", "Bash(a b)"]}));
        assert_eq!(fields.unwrap().allowed_tools, ["Read", "Bash(a b)"]);
    }

    #[test]
    fn odd_fields_are_reported_and_loaded() {
        for (field, value, why) in [
            ("name", json!("other"), "folder"),
            ("name", json!("PDF"), "lower-case"),
            ("name", json!("a--b"), "single hyphens"),
            ("name", json!("-a"), "single hyphens"),
            ("name", json!("My Skill"), "lower-case"),
            ("name", json!("x".repeat(65)), "allows 64"),
            ("name", json!(7), "in quotes"),
            ("name", json!(null), "its folder's name"),
            ("description", json!("x".repeat(1025)), "allows 1024"),
            ("license", json!(["MIT"]), "license must be text"),
            ("compatibility", json!("x".repeat(501)), "500"),
            ("metadata", json!("x"), "mapping"),
            ("metadata", json!({"tags": ["a"]}), "'tags'"),
            ("allowed-tools", json!(true), "list of texts"),
        ] {
            let mut given = json!({"name": "pdf", "description": "d"});
            given[field] = value;
            let (fields, notes) = read(given);
            assert!(fields.is_ok(), "{field}: {fields:?}");
            assert!(notes.iter().any(|note| note.contains(why)), "{field}: {notes:?}");
        }
    }

    #[test]
    fn names_that_cannot_be_shown_or_imitate_others_are_refused() {
        for (field, value, why) in [
            ("name", json!("server/greet"), "characters"),
            ("name", json!("a\u{202e}b"), "characters"),
            ("name", json!("a\nb"), "characters"),
            ("name", json!("x".repeat(201)), "201 characters"),
            ("name", json!({"a": 1}), "must be text"),
            ("description", json!(null), "no description"),
            ("description", json!(" \u{200b} "), "no description"),
            ("description", json!(["d"]), "must be text"),
        ] {
            let mut given = json!({"name": "pdf", "description": "d"});
            given[field] = value;
            let error = read(given).0.unwrap_err();
            assert!(error.contains(why), "{field}: {error}");
        }
    }
}
