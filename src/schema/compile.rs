//! From a schema to its validator.

use super::cost;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The draft is what `$schema` says, else 2020-12. `None` for a schema that is broken, or that could keep the validator
/// busy without end: it checks nothing.
///
/// `format` is an annotation, whatever the draft: servers take more than the letter of a format (`localhost` as a URI),
/// and know best.
pub fn compile(schema: &Value) -> Option<Validator> {
    if !cost::is_bounded(schema) {
        return None;
    }
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(false)
        .build(schema)
        .ok()
}
