//! The plain rules of a schema: each looks at one value and refuses it by itself. They are checked where the whole schema cannot be
//! compiled or may take too long. A rule that is left out makes none of them stricter.

use serde_json::{Map, Value, json};
use toolhub_text::has_word;

const PLAIN: &str = "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength \
    minItems maxItems minProperties maxProperties required dependentRequired";
/// In these drafts nothing counts beside a reference.
const REFERENCE_ALONE: [&str; 3] = ["draft-04", "draft-06", "draft-07"];

/// The plain rules of a schema, as far as each compiles by itself.
pub fn plain_rules(schema: &Value, compiles: &dyn Fn(&Value) -> bool) -> Value {
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
