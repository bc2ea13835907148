//! Checking arguments against a JSON Schema before a call leaves.
//!
//! One compiled validator a tool, made at its first call. Schemas are data of strangers: nothing is fetched
//! (the crate is built without resolvers), patterns run on the linear engine, and a schema that does not
//! compile checks nothing instead of losing the tool.

use crate::error::{ErrorKind, HubError};
use crate::model::Arguments;
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::paths::LocationSegment;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// How many violations one message lists.
const LISTED: usize = 5;
/// How many characters of an offending value a message shows.
const SHOWN: usize = 60;

pub struct ArgumentSchema {
    schema: Arc<Value>,
    compiled: OnceLock<Option<Validator>>,
}

impl ArgumentSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ArgumentSchema { schema, compiled: OnceLock::new() }
    }

    /// Refuses with a sentence that names each path, what was expected and what was given.
    pub fn check(&self, tool: &str, args: &Arguments) -> Result<(), HubError> {
        let validator = self.compiled.get_or_init(|| {
            jsonschema::options().with_pattern_options(PatternOptions::regex()).build(&self.schema).ok()
        });
        let Some(validator) = validator else { return Ok(()) };
        if validator.is_valid(args.as_value()) {
            return Ok(());
        }
        let mut listed: Vec<String> =
            validator.iter_errors(args.as_value()).take(LISTED + 1).map(|e| self.describe(&e)).collect();
        if listed.len() > LISTED {
            listed[LISTED] = "and more".into();
        }
        Err(HubError::new(
            ErrorKind::InvalidArguments,
            format!("Invalid arguments for '{}': {}", crate::error::clip(tool), listed.join("; ")),
        ))
    }

    fn describe(&self, error: &ValidationError<'_>) -> String {
        let path = readable_path(error);
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        match error.kind() {
            Violation::Type { kind } => {
                let expected = match kind {
                    TypeKind::Single(one) => one.to_string(),
                    TypeKind::Multiple(set) => {
                        set.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                format!("{place}expected {expected}, got {}", shown(error.instance()))
            }
            Violation::Required { property } => {
                format!("{place}missing required argument {}", shown_plain(property))
            }
            Violation::AdditionalProperties { unexpected }
            | Violation::UnevaluatedProperties { unexpected } => unexpected
                .iter()
                .map(|name| format!("{place}unknown argument '{name}'{}", self.suggestion(name)))
                .collect::<Vec<_>>()
                .join("; "),
            Violation::Enum { options } => {
                format!(
                    "{place}expected one of {}, got {}",
                    clip(&options.to_string()),
                    shown(error.instance())
                )
            }
            _ => format!("{place}{}", clip(&error.to_string())),
        }
    }

    fn suggestion(&self, given: &str) -> String {
        let names = self.schema.get("properties").and_then(Value::as_object);
        names
            .into_iter()
            .flat_map(|map| map.keys())
            .map(|name| (strsim::jaro_winkler(name, given), name))
            .filter(|(score, _)| *score > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| format!(" (did you mean '{name}'?)"))
            .unwrap_or_default()
    }
}

/// `rows[2].age` instead of `/rows/2/age`.
fn readable_path(error: &ValidationError<'_>) -> String {
    let mut path = String::new();
    for segment in error.instance_path().iter() {
        match segment {
            LocationSegment::Index(index) => path.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) if path.is_empty() => path.push_str(&name),
            LocationSegment::Property(name) => path.push_str(&format!(".{name}")),
        }
    }
    path
}

fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{} ({kind})", shown_plain(value))
}

fn shown_plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", clip(text)),
        other => clip(&other.to_string()),
    }
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, args: Value) -> Result<(), String> {
        let Value::Object(map) = args else { unreachable!("tests give objects") };
        ArgumentSchema::new(Arc::new(schema))
            .check("t", &Arguments::new(map))
            .map_err(|error| error.message.into_owned())
    }

    #[test]
    fn a_violation_names_path_expectation_and_value() {
        let schema = json!({"type": "object", "properties": {"rows": {"type": "array", "items":
            {"type": "object", "properties": {"age": {"type": "integer"}}}}}});
        assert_eq!(
            check(schema, json!({"rows": [{"age": 1}, {"age": "old"}]})),
            Err("Invalid arguments for 't': rows[1].age: expected integer, got 'old' (string)".into())
        );
    }

    #[test]
    fn unknown_and_missing_arguments_are_named() {
        let schema = json!({"type": "object", "properties": {"filepath": {"type": "string"}},
            "required": ["filepath"], "additionalProperties": false});
        let message = check(schema, json!({"filepaht": "a"})).err().unwrap_or_default();
        assert!(message.contains("unknown argument 'filepaht' (did you mean 'filepath'?)"), "{message}");
        assert!(message.contains("missing required argument 'filepath'"), "{message}");
    }

    #[test]
    fn a_broken_schema_checks_nothing() {
        assert_eq!(check(json!({"type": 5}), json!({"a": 1})), Ok(()));
        assert_eq!(check(json!({"$ref": "https://example.com/x.json"}), json!({"a": 1})), Ok(()));
    }

    #[test]
    fn long_values_are_clipped() {
        let schema = json!({"properties": {"n": {"type": "integer"}}});
        let message = check(schema, json!({"n": "é".repeat(5000)})).err().unwrap_or_default();
        assert!(message.chars().count() < 200, "{message}");
    }
}
