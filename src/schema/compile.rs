//! From a schema to its validator.

use super::cost;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

/// The draft is the one that `$schema` names, else 2020-12. `None` for a schema that is broken or could keep the validator
/// busy without end: it checks nothing.
///
/// `format` is an annotation in every draft: servers accept more than the letter of a format (`localhost` as a URI).
pub fn compile(schema: &Value) -> Option<Validator> {
    if !cost::is_bounded(schema) {
        return None;
    }
    build(schema).or_else(|| {
        let mut supported = schema.clone();
        remove_unsupported_patterns(&mut supported).then(|| build(&supported)).flatten()
    })
}

fn build(schema: &Value) -> Option<Validator> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(false)
        .build(schema)
        .ok()
}

/// Removes the patterns that the linear engine cannot run (look-around, back-references), so that the rest of the schema is
/// still checked. Tells whether there were any.
fn remove_unsupported_patterns(value: &mut Value) -> bool {
    match value {
        Value::Object(map) => {
            let is_unsupported =
                |pattern: &Value| pattern.is_string() && build(&json!({"pattern": pattern})).is_none();
            let mut removed = map.get("pattern").is_some_and(is_unsupported);
            if removed {
                map.shift_remove("pattern");
            }
            for inner in map.values_mut() {
                removed |= remove_unsupported_patterns(inner);
            }
            removed
        }
        Value::Array(items) => {
            items.iter_mut().filter_map(|item| remove_unsupported_patterns(item).then_some(())).count() > 0
        }
        _ => false,
    }
}
