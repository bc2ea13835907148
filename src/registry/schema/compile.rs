//! From a schema to its validator.
//!
//! A match of a pattern cannot be interrupted, so a pattern has a largest size, and texts are counted by it. Where the whole
//! schema cannot be compiled or may take too long, its plain rules are checked: each looks at one value and refuses it by itself,
//! and one that is left out makes none of the others stricter.

use super::cost::{Cost, DEEPEST};
use super::prepare::prepared;
use super::references::{children, values};
use jsonschema::error::ValidationErrorKind as Violation;
use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use toolhub_text::has_word;
use toolhub_types::model::Unchecked;
use toolhub_types::system;

/// The stack that one schema may need for one value, in an unoptimised build. A level of a value is at least two of a
/// schema: the keyword and its content.
const FRAME: usize = 3 * 1024;
/// Compiling nests as deeply as the schema.
const COMPILING: usize = 4 << 20;
/// Values whose check may need less than this are checked without a look at the stack.
const UNNOTICED: usize = 96 * 1024;

const ABOVE: &str = "its unions, references and patterns may take too long, so they are left out";
const BROKEN: &str =
    "it cannot be compiled, so the unions, references and patterns of the schema are left out";

/// A schema that is ready to check values.
pub struct Compiled {
    /// What the validator checks: the schema, or as much of it as can be checked.
    pub schema: Arc<Value>,
    /// `None` if nothing can be checked.
    pub built: Option<Built>,
    pub cost: Cost,
    /// Rules of the schema that are not checked.
    pub unchecked: Vec<Unchecked>,
    /// The plain rules; compiled when a value needs them.
    cheap: OnceLock<Option<Box<Compiled>>>,
}

/// The draft is the one that `$schema` names, else 2020-12. Of a schema that is above the bound, or cannot be compiled, only the
/// [plain rules](plain_rules) are checked.
pub fn compile(schema: &Arc<Value>) -> Compiled {
    system::with_room(COMPILING, || compile_here(schema))
        .unwrap_or_else(|| Compiled::nothing(all_of("no thread could be started to compile it")))
}

/// The whole schema, as far as it is not checked.
pub fn all_of(reason: &'static str) -> Unchecked {
    Unchecked { place: "".into(), reason }
}

fn compile_here(schema: &Arc<Value>) -> Compiled {
    let schema = prepared(schema);
    let is_above = Cost::of(&schema, 0, 1).is_above_the_bound();
    let built = match heaviest(&schema).filter(|_| !is_above) {
        Some(heaviest) => build(&schema, heaviest).map_err(|place| Unchecked { place, reason: BROKEN }),
        None => Err(all_of(ABOVE)),
    };
    match built {
        Ok(built) => Compiled::of(schema, built),
        Err(left_out) => plain(&schema, left_out),
    }
}

/// What is left of a schema without the rules whose cost multiplies.
fn plain(schema: &Value, left_out: Unchecked) -> Compiled {
    let compiled = |rules: Value| {
        // Some schemas nest too deeply by themselves.
        let built = build(&rules, 0).ok().filter(|_| !Cost::of(&rules, 0, 1).is_above_the_bound());
        built.map(|built| Compiled::of(Arc::new(rules), built))
    };
    let each = || compiled(plain_rules(schema, &compiles));
    match compiled(plain_rules(schema, &|_| true)).or_else(each) {
        Some(compiled) => Compiled { unchecked: vec![left_out], ..compiled },
        None => Compiled::nothing(left_out),
    }
}

impl Compiled {
    fn of(schema: Arc<Value>, built: Built) -> Self {
        let cost = Cost::of(&schema, built.text, built.runs);
        Compiled { cost, built: Some(built), unchecked: Vec::new(), schema, cheap: OnceLock::new() }
    }

    fn nothing(left_out: Unchecked) -> Self {
        let schema = Arc::new(Value::Bool(true));
        let cost = Cost::of(&schema, 0, 1);
        Compiled { schema, built: None, cost, unchecked: vec![left_out], cheap: OnceLock::new() }
    }

    /// The bytes of stack that a check of this value may need; 0 if every thread has them.
    pub fn stack_for(&self, value: &Value) -> usize {
        match self.stack(self.cost.levels) {
            bytes if bytes < UNNOTICED => 0,
            _ => self.stack(depth(value).min(self.cost.levels)) + UNNOTICED,
        }
    }

    /// The bytes of stack for any value, with those that coercion may put in.
    pub fn stack_for_all(&self) -> usize {
        self.stack(self.cost.levels) + UNNOTICED
    }

    fn stack(&self, levels: usize) -> usize {
        (levels.min(DEEPEST) + 1) * (self.cost.chain + 1) * FRAME
    }

    /// The rules whose cost does not multiply, for a value that is too costly for all of them.
    pub fn cheap(&self) -> Option<&Compiled> {
        let compile = || {
            let cheap = plain(&self.schema, all_of(ABOVE));
            cheap.built.is_some().then(|| Box::new(cheap))
        };
        self.cheap.get_or_init(compile).as_deref()
    }
}

/// The number of levels below a value.
fn depth(value: &Value) -> usize {
    let (mut deepest, mut todo) = (0, vec![(value, 0)]);
    while let Some((value, level)) = todo.pop() {
        deepest = deepest.max(level);
        todo.extend(children(value).map(|inner| (inner, level + 1)));
    }
    deepest
}

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

/// The engine that runs in linear time is preferred; the other one also knows look-around and back-references, and goes back
/// in the text for them. The error is the place of a keyword that cannot be compiled, as far as it is known.
fn build(schema: &Value, heaviest: usize) -> Result<Built, Arc<str>> {
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
fn compiles(schema: &Value) -> bool {
    build(schema, SIZES[SIZES.len() - 1]).is_ok()
}

/// `format` is an annotation in every draft: servers accept more than the letter of a format (`localhost` as a URI).
fn options<'a>() -> ValidationOptions<'a> {
    jsonschema::options().should_validate_formats(false)
}

/// The size of the heaviest pattern of a schema, in KiB; `None` if all together are too heavy.
fn heaviest(schema: &Value) -> Option<usize> {
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

const PLAIN: &str = "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength \
    minItems maxItems minProperties maxProperties required dependentRequired";
/// In these drafts nothing counts beside a reference.
const REFERENCE_ALONE: [&str; 3] = ["draft-04", "draft-06", "draft-07"];

/// The plain rules of a schema, as far as each compiles by itself.
fn plain_rules(schema: &Value, compiles: &dyn Fn(&Value) -> bool) -> Value {
    let dialect = schema.get("$schema").filter(|dialect| compiles(&json!({"$schema": dialect})));
    let name = dialect.and_then(Value::as_str).unwrap_or_default();
    let with_dialect = |mut rules: Map<String, Value>| {
        rules.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect.clone())));
        Value::Object(rules)
    };
    let reference_is_alone = REFERENCE_ALONE.iter().any(|draft| name.contains(draft));
    let compiles = |keyword: &str, value: &Value| {
        compiles(&with_dialect(Map::from_iter([(keyword.to_owned(), value.clone())])))
    };
    match rules(schema, reference_is_alone, &compiles) {
        Value::Object(rules) => with_dialect(rules),
        rules => rules,
    }
}

fn rules(schema: &Value, reference_is_alone: bool, compiles: &dyn Fn(&str, &Value) -> bool) -> Value {
    let Value::Object(map) = schema else { return Value::Bool(*schema != Value::Bool(false)) };
    if reference_is_alone && map.contains_key("$ref") {
        return Value::Bool(true);
    }
    let names_are_known = map.get("properties").is_none_or(Value::is_object);
    let inside = |inner: &Value| rules(inner, reference_is_alone, compiles);
    let mut kept = Map::new();
    for (keyword, value) in map {
        let is_schema = value.is_object() || value.is_boolean();
        let rule = match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => {
                named.iter().map(|(name, inner)| (name.clone(), inside(inner))).collect()
            }
            ("allOf", Value::Array(parts)) if !parts.is_empty() => parts.iter().map(inside).collect(),
            // The items after those of a tuple, and what no pattern names.
            ("items", inner) if is_schema && !map.contains_key("prefixItems") => inside(inner),
            ("additionalProperties", inner)
                if is_schema && names_are_known && !map.contains_key("patternProperties") =>
            {
                inside(inner)
            }
            (keyword, value) if has_word(PLAIN, keyword) && compiles(keyword, value) => value.clone(),
            _ => continue,
        };
        kept.insert(keyword.clone(), rule);
    }
    Value::Object(kept)
}
