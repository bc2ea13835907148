//! What the patterns of a schema cost. A match cannot be interrupted, so a pattern has a largest size, and texts are
//! counted by it.

use super::references::values;
use jsonschema::error::ValidationErrorKind as Violation;
use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// The sizes of compiled patterns that are told apart, in KiB. Larger ones are not checked.
const SIZES: [usize; 4] = [4, 16, 64, 256];
/// All patterns of a schema together, in KiB. With more, none is checked.
const TOTAL: usize = 4096;
/// Steps back that a pattern with look-around may take in one text, and what each byte of a text then counts.
const BACKTRACKS: usize = 2_000;
const LOOK_AROUND: u64 = 16;
/// The validator starts again this often to find out whether a match that was given up matters.
const RUNS: u64 = 64;

/// A validator, and what its texts cost.
pub struct Built {
    pub validator: Validator,
    /// Looks for each byte of a text.
    pub text: u64,
    /// How often the validator may start.
    pub runs: u64,
}

impl Built {
    pub fn looks_around(&self) -> bool {
        self.runs > 1
    }
}

/// The engine that runs in linear time is preferred; the other one also knows look-around and back-references, and goes back
/// in the text for them. The error is the place of a keyword that cannot be compiled, as far as it is known.
pub fn build(schema: &Value, heaviest: usize) -> Result<Built, Arc<str>> {
    let limit = heaviest << 10;
    let linear = PatternOptions::regex().size_limit(limit);
    if let Ok(validator) = options().with_pattern_options(linear).build(schema) {
        return Ok(Built { validator, text: heaviest as u64, runs: 1 });
    }
    let look_around = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS).size_limit(limit);
    let built = options().with_pattern_options(look_around).build(schema);
    built.map(|validator| Built { validator, text: LOOK_AROUND, runs: RUNS }).map_err(|error| {
        // A pattern is found when it is compiled, everything else when the schema itself is checked.
        let is_pattern = matches!(error.kind(), Violation::Format { .. }) && error.instance_path().is_empty();
        let place = if is_pattern { error.schema_path() } else { error.instance_path() };
        place.as_str().into()
    })
}

/// Whether a schema without heavy patterns can be compiled.
pub fn compiles(schema: &Value) -> bool {
    build(schema, SIZES[SIZES.len() - 1]).is_ok()
}

/// `format` is an annotation in every draft: servers accept more than the letter of a format (`localhost` as a URI).
fn options<'a>() -> ValidationOptions<'a> {
    jsonschema::options().should_validate_formats(false)
}

/// The size of the heaviest pattern of a schema, in KiB; `None` if all together are too heavy.
pub fn heaviest(schema: &Value) -> Option<usize> {
    let (mut largest, mut total, mut seen) = (0, 0, HashSet::new());
    for value in values(schema) {
        let Value::Object(map) = value else { continue };
        let names = map.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for pattern in map.get("pattern").and_then(Value::as_str).into_iter().chain(names.map(String::as_str))
        {
            if seen.insert(pattern) {
                let size = size(pattern);
                (largest, total) = (largest.max(size), total + size);
            }
            if total > TOTAL {
                return None;
            }
        }
    }
    Some(largest)
}

fn size(pattern: &str) -> usize {
    let schema = json!({"pattern": pattern});
    let fits = |size: &&usize| build(&schema, **size).is_ok();
    // With one that is too large, or none at all, the schema does not compile.
    SIZES.iter().find(fits).copied().unwrap_or(SIZES[SIZES.len() - 1])
}
