//! What a validation may cost. Whether a value fits can be decided in reasonable time for any schema that passes
//! [`is_bounded`]. Why it does not fit can cost far more: the validator follows every branch of every union, and where
//! branches lead to the same part of the value, the work multiplies with each level.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Maximum number of subschemas that may look at the same value.
const AT_ONE_PLACE: u64 = 10_000;
/// Maximum number of subschema visits for an explanation, on one path down the value and in total.
const ON_ONE_PATH: u64 = 100_000;
const IN_TOTAL: u64 = 1_000_000;
/// Work that multiplies is over the limit before it gets this deep.
const LEVELS: usize = 48;
/// Longer chains of references could overflow the stack.
const CHAIN: usize = 500;

/// How much may be reported about a value that does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DetailLevel {
    /// Every violation; repairs may be tried.
    Full,
    /// The first violation: the value is too large for more.
    First,
    /// Only that it does not fit.
    Nothing,
}

pub fn affordable(schema: &Value, value: &Value) -> DetailLevel {
    let (values, depth) = measure(value);
    let visits = Counting::of(schema).visits(schema, depth.min(LEVELS), 0);
    match visits {
        visits if visits > ON_ONE_PATH => DetailLevel::Nothing,
        visits if visits.saturating_mul(values) <= IN_TOTAL => DetailLevel::Full,
        // The first violation of a union holds all violations of all its branches.
        _ if has_union(schema) => DetailLevel::Nothing,
        _ => DetailLevel::First,
    }
}

fn has_union(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.contains_key("anyOf") || map.contains_key("oneOf") || map.values().any(has_union)
        }
        Value::Array(items) => items.iter().any(has_union),
        _ => false,
    }
}

/// Whether checking one value ends, and soon: no `$ref` leads back to itself without stepping into the value, and no chain
/// of them multiplies.
pub fn is_bounded(schema: &Value) -> bool {
    fn anywhere<'a>(counting: &mut Counting<'a>, value: &'a Value) -> bool {
        match value {
            Value::Object(map) => {
                let refers = map.contains_key("$ref") || map.contains_key("$dynamicRef");
                (!refers || counting.visits(value, 0, 0) <= AT_ONE_PLACE)
                    && map.values().all(|inner| anywhere(counting, inner))
            }
            Value::Array(items) => items.iter().all(|item| anywhere(counting, item)),
            _ => true,
        }
    }
    anywhere(&mut Counting::of(schema), schema)
}

/// Counts visits of subschemas; `u64::MAX` means without end.
struct Counting<'a> {
    root: &'a Value,
    /// By subschema and levels of the value below it. A subschema that is met while it is being counted has no end.
    known: HashMap<(*const Value, usize), u64>,
}

impl<'a> Counting<'a> {
    fn of(root: &'a Value) -> Self {
        Counting { root, known: HashMap::new() }
    }

    fn visits(&mut self, schema: &'a Value, levels: usize, chain: usize) -> u64 {
        let Some(map) = schema.as_object() else { return 0 };
        if chain > CHAIN {
            return u64::MAX;
        }
        let key = (schema as *const Value, levels);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.known.insert(key, u64::MAX);
        let mut visits = 1u64;
        for next in beside(self.root, map) {
            visits = visits.saturating_add(self.visits(next, levels, chain + 1));
        }
        if levels > 0 {
            for next in every_part(map) {
                visits = visits.saturating_add(self.visits(next, levels - 1, chain + 1));
            }
            // Each of these looks at another part, so a path down the value meets only one of them.
            let one = one_part(map).into_iter().map(|next| self.visits(next, levels - 1, chain + 1)).max();
            visits = visits.saturating_add(one.unwrap_or(0));
        }
        self.known.insert(key, visits);
        visits
    }
}

/// Subschemas that look at the same value.
pub fn beside<'a>(root: &'a Value, map: &'a Map<String, Value>) -> Vec<&'a Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
    let single = ["not", "if", "then", "else"].into_iter().filter_map(|key| map.get(key));
    let by_name =
        ["dependentSchemas", "dependencies"].into_iter().filter_map(|key| map.get(key)?.as_object());
    target(root, map)
        .into_iter()
        .chain(lists)
        .chain(single)
        .chain(by_name.flat_map(|each| each.values()))
        .collect()
}

/// Subschemas that may look at each part of the value.
fn every_part(map: &Map<String, Value>) -> Vec<&Value> {
    const SINGLE: [&str; 7] = [
        "additionalProperties",
        "unevaluatedProperties",
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "propertyNames",
    ];
    let patterns = map.get("patternProperties").and_then(Value::as_object);
    let patterns = patterns.into_iter().flat_map(|each| each.values());
    SINGLE.into_iter().filter_map(|key| map.get(key)).chain(patterns).collect()
}

/// Subschemas that look at one part of the value each.
fn one_part(map: &Map<String, Value>) -> Vec<&Value> {
    let named = map.get("properties").and_then(Value::as_object);
    let placed = ["prefixItems", "items"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
    named.into_iter().flat_map(|each| each.values()).chain(placed).collect()
}

/// The target of a reference inside the document.
pub fn target<'a>(root: &'a Value, map: &Map<String, Value>) -> Option<&'a Value> {
    let name = map.get("$ref").or_else(|| map.get("$dynamicRef"))?.as_str()?;
    root.pointer(name.strip_prefix('#')?)
}

/// The number of values, and their depth.
fn measure(value: &Value) -> (u64, usize) {
    let parts: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => return (1, 0),
    };
    parts.map(measure).fold((1, 0), |(count, depth), (more, deeper)| (count + more, depth.max(deeper + 1)))
}
