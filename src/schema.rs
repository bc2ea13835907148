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

/// What a tool's arguments must look like.
pub struct ArgumentSchema(Schema);

impl ArgumentSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ArgumentSchema(Schema::new(schema))
    }

    /// Refuses with a sentence that names each path, what was expected and what was given.
    pub fn check(&self, tool: &str, args: &Arguments) -> Result<(), HubError> {
        let Some(violations) = self.0.violations(args.as_value()) else { return Ok(()) };
        let text = format!("Invalid arguments for '{}': {violations}", crate::error::clip(tool));
        Err(HubError::new(ErrorKind::InvalidArguments, text))
    }
}

/// What a tool says that its structured results look like.
pub struct ResultSchema(Schema);

impl ResultSchema {
    pub fn new(schema: Arc<Value>) -> Self {
        ResultSchema(Schema::new(schema))
    }

    pub fn check(&self, tool: &str, value: &Value) -> Result<(), HubError> {
        let Some(violations) = self.0.violations(value) else { return Ok(()) };
        let text = format!(
            "The result of '{}' breaks the tool's own schema: {violations}",
            crate::error::clip(tool)
        );
        Err(HubError::new(ErrorKind::Protocol, text))
    }
}

struct Schema {
    schema: Arc<Value>,
    compiled: OnceLock<Option<Validator>>,
}

impl Schema {
    fn new(schema: Arc<Value>) -> Self {
        Schema { schema, compiled: OnceLock::new() }
    }

    /// What is wrong with a value, if anything.
    fn violations(&self, value: &Value) -> Option<String> {
        let validator = self.compiled.get_or_init(|| {
            if refers_to_itself(&self.schema) {
                return None;
            }
            jsonschema::options().with_pattern_options(PatternOptions::regex()).build(&self.schema).ok()
        });
        let validator = validator.as_ref()?;
        if validator.is_valid(value) {
            return None;
        }
        let mut listed: Vec<String> =
            validator.iter_errors(value).take(LISTED + 1).map(|e| self.describe(&e)).collect();
        if listed.len() > LISTED {
            listed[LISTED] = "and more".into();
        }
        Some(listed.join("; "))
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

/// Whether checking one value would come back to the same schema and the same value, for ever: a `$ref` that leads to
/// itself without stepping into the value.
fn refers_to_itself(root: &Value) -> bool {
    fn leads_back<'a>(root: &'a Value, schema: &'a Value, path: &mut Vec<*const Value>) -> bool {
        let Some(map) = schema.as_object() else { return false };
        if path.contains(&(schema as *const Value)) {
            return true;
        }
        // Deeper than any sane schema: not worth the risk.
        if path.len() > 200 {
            return true;
        }
        path.push(schema);
        let target = map.get("$ref").or_else(|| map.get("$dynamicRef")).and_then(Value::as_str);
        let target = target.and_then(|name| name.strip_prefix('#')).and_then(|place| root.pointer(place));
        let several =
            ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
        let single = ["not", "if", "then", "else"].iter().filter_map(|key| map.get(*key));
        let back = target.into_iter().chain(several).chain(single).any(|next| leads_back(root, next, path));
        path.pop();
        back
    }
    fn anywhere(root: &Value, schema: &Value) -> bool {
        match schema {
            Value::Object(map) => {
                (map.contains_key("$ref") && leads_back(root, schema, &mut Vec::new()))
                    || map.values().any(|value| anywhere(root, value))
            }
            Value::Array(items) => items.iter().any(|item| anywhere(root, item)),
            _ => false,
        }
    }
    anywhere(root, root)
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
    fn a_schema_that_leads_back_to_itself_checks_nothing() {
        assert_eq!(check(json!({"type": "object", "$ref": "#"}), json!({"a": 1})), Ok(()));
        let two = json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}});
        assert_eq!(check(two, json!({"a": 1})), Ok(()));
    }

    #[test]
    fn a_schema_of_trees_is_checked() {
        let tree =
            json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
        assert_eq!(check(tree.clone(), json!({"children": [{"children": []}]})), Ok(()));
        assert!(check(tree, json!({"children": [{"children": 5}]})).is_err());
    }

    #[test]
    fn long_values_are_clipped() {
        let schema = json!({"properties": {"n": {"type": "integer"}}});
        let message = check(schema, json!({"n": "é".repeat(5000)})).err().unwrap_or_default();
        assert!(message.chars().count() < 200, "{message}");
    }
}
