//! A schema without the keywords that cannot be checked. All other checks stay, and none becomes stricter: where a missing
//! part would turn into a refusal (`not`, `if`, `oneOf`, `unevaluatedProperties`), the keyword around it goes, too.

use super::cost::{Cost, address};
use super::references::{REFERENCES, Resolver};
use serde_json::{Map, Value};
use std::collections::HashSet;
use toolhub_types::model::Unchecked;

/// Which keywords are removed.
#[derive(Clone, Copy, PartialEq)]
pub enum Removal {
    /// Those that are broken or lead nowhere.
    Broken,
    /// Those whose work multiplies: unions, conditions, references, patterns.
    Costly,
}

const ONE: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
];
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const BY_NAME: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];
/// Keywords without a schema inside that can be broken.
const LEAVES: [&str; 28] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "type",
    "enum",
    "const",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "title",
];
const COSTLY: [&str; 14] = [
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "contains",
    "uniqueItems",
    "pattern",
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// The schema without these keywords. `compiles` tells whether a small schema can be compiled.
pub fn relaxed(
    schema: &Value,
    cost: &Cost,
    removal: Removal,
    compiles: &dyn Fn(&Value) -> bool,
) -> (Value, Vec<Unchecked>) {
    let dialect = schema.get("$schema").filter(|dialect| compiles(&serde_json::json!({"$schema": dialect})));
    let mut relaxation = Relaxation {
        resolver: Resolver::new(schema),
        endless: &cost.endless,
        removal,
        compiles: &|keyword, value| {
            let mut small = Map::from_iter([(keyword.to_owned(), value.clone())]);
            if let Some(dialect) = dialect {
                small.insert("$schema".into(), dialect.clone());
            }
            compiles(&Value::Object(small))
        },
        targets_are_relaxed: removal == Removal::Costly,
        lost_pattern: false,
        unchecked: Vec::new(),
    };
    let (first, _) = relaxation.schema(schema, "");
    if relaxation.unchecked.is_empty() || removal == Removal::Costly {
        return (first, relaxation.unchecked);
    }
    // What a reference leads to may have lost a keyword; where that matters, the reference is not relied on.
    let unchecked = relaxation.unchecked;
    let mut again = Relaxation {
        resolver: Resolver::new(&first),
        endless: &HashSet::new(),
        removal,
        compiles: &|_, _| true,
        targets_are_relaxed: true,
        lost_pattern: false,
        unchecked,
    };
    let (second, _) = again.schema(&first, "");
    (second, again.unchecked)
}

struct Relaxation<'a> {
    resolver: Resolver<'a>,
    endless: &'a HashSet<usize>,
    removal: Removal,
    /// Whether a keyword with this value can be compiled by itself.
    compiles: &'a dyn Fn(&str, &Value) -> bool,
    /// Whether what a reference leads to may accept more than it should.
    targets_are_relaxed: bool,
    /// Whether the current `patternProperties` has lost one.
    lost_pattern: bool,
    unchecked: Vec<Unchecked>,
}

/// A part of a schema, and whether it accepts more than it should.
type Relaxed = (Value, bool);

impl Relaxation<'_> {
    fn skip(&mut self, place: &str, keyword: &str, reason: &'static str) {
        // In a costly schema nearly everything is: one sentence for all says more.
        if self.removal == Removal::Broken {
            self.unchecked.push(Unchecked { place: format!("{place}/{}", step(keyword)).into(), reason });
        }
    }

    fn schema(&mut self, schema: &Value, place: &str) -> Relaxed {
        let map = match schema {
            Value::Bool(_) => return (schema.clone(), false),
            Value::Object(map) => map,
            _ => {
                self.unchecked.push(Unchecked { place: place.into(), reason: "it is not a schema" });
                return (Value::Bool(true), true);
            }
        };
        let (mut kept, mut is_relaxed) = (Map::new(), HashSet::new());
        for (keyword, value) in map {
            match self.keyword(schema, keyword, value, place) {
                Some((value, relaxed)) => {
                    kept.insert(keyword.clone(), value);
                    if relaxed {
                        is_relaxed.insert(keyword.as_str());
                    }
                }
                None => {
                    is_relaxed.insert(keyword.as_str());
                }
            }
        }
        // Definitions look at no value by themselves.
        is_relaxed.retain(|keyword| !matches!(*keyword, "$defs" | "definitions" | "$schema" | "$comment"));
        if !is_relaxed.is_empty() {
            self.keep_lenient(&mut kept, &is_relaxed, place);
        }
        (Value::Object(kept), !is_relaxed.is_empty())
    }

    /// Removes keywords that would refuse more than before, now that others accept more.
    fn keep_lenient(&mut self, kept: &mut Map<String, Value>, is_relaxed: &HashSet<&str>, place: &str) {
        const REASON: &str = "it depends on a rule that cannot be checked";
        let mut gone = vec!["unevaluatedProperties", "unevaluatedItems"];
        let has = |keyword: &str| is_relaxed.contains(keyword);
        if has("not") {
            gone.push("not");
        }
        if has("if") {
            gone.extend(["if", "then", "else"]);
        }
        if has("contains") {
            gone.push("maxContains");
        }
        if has("patternProperties") && std::mem::take(&mut self.lost_pattern) {
            // What the pattern allowed would count as an additional property.
            gone.push("additionalProperties");
        }
        for keyword in gone {
            if kept.shift_remove(keyword).is_some() {
                self.skip(place, keyword, REASON);
            }
        }
        if has("oneOf")
            && let Some(branches) = kept.shift_remove("oneOf")
        {
            // Several branches may fit now.
            let union = Value::Object(Map::from_iter([("anyOf".to_owned(), branches)]));
            match kept.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(all) => all.push(union),
                _ => self.skip(place, "oneOf", REASON),
            }
        }
    }

    /// The keyword with what can be checked of it; `None` without it.
    fn keyword(&mut self, holder: &Value, keyword: &str, value: &Value, place: &str) -> Option<Relaxed> {
        if self.removal == Removal::Costly {
            let needs_patterns =
                keyword == "additionalProperties" && holder.get("patternProperties").is_some();
            if needs_patterns || COSTLY.contains(&keyword) || REFERENCES.contains(&keyword) {
                return None;
            }
        }
        if REFERENCES.contains(&keyword) {
            return self.reference(holder, keyword, value, place);
        }
        let inner = format!("{place}/{}", step(keyword));
        match value {
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword) => Some(self.schema(value, &inner)),
            // Older drafts have a list of schemas here, the current one has `prefixItems` for it.
            Value::Array(_)
                if keyword == "items" && !(self.compiles)(keyword, &serde_json::json!([true])) =>
            {
                self.skip(place, keyword, "a list of schemas has no meaning here in this draft");
                None
            }
            Value::Array(items) if LIST.contains(&keyword) && !items.is_empty() => {
                let mut relaxed = false;
                let items = items.iter().enumerate().map(|(at, item)| {
                    let (item, lenient) = self.schema(item, &format!("{inner}/{at}"));
                    relaxed |= lenient;
                    item
                });
                let items = Value::Array(items.collect());
                Some((items, relaxed))
            }
            Value::Object(map) if BY_NAME.contains(&keyword) => Some(self.by_name(keyword, map, &inner)),
            _ if ONE.contains(&keyword) || LIST.contains(&keyword) || BY_NAME.contains(&keyword) => {
                self.skip(place, keyword, "it holds no schema");
                None
            }
            Value::String(pattern) if keyword == "pattern" => match self.wrong_with(pattern) {
                Some(reason) => {
                    self.skip(place, keyword, reason);
                    None
                }
                None => Some((value.clone(), false)),
            },
            Value::Array(names) if keyword == "type" && !(self.compiles)(keyword, value) => {
                self.known_types(names, place)
            }
            _ if LEAVES.contains(&keyword) && !(self.compiles)(keyword, value) => {
                self.skip(place, keyword, "its value is not valid");
                None
            }
            _ => Some((value.clone(), false)),
        }
    }

    /// Why a pattern cannot be checked.
    fn wrong_with(&self, pattern: &str) -> Option<&'static str> {
        let compiles = (self.compiles)("pattern", &Value::String(pattern.to_owned()));
        (!compiles).then_some("the pattern cannot be compiled, or becomes too large")
    }

    /// The names of types that exist.
    fn known_types(&mut self, names: &[Value], place: &str) -> Option<Relaxed> {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for (at, name) in names.iter().enumerate() {
            if !(self.compiles)("type", name) || !name.is_string() {
                unknown.push(at.to_string());
            } else if !known.contains(name) {
                known.push(name.clone());
            }
        }
        if known.is_empty() {
            self.skip(place, "type", "its value is not valid");
            return None;
        }
        let inner = format!("{place}/type");
        unknown.iter().for_each(|at| self.skip(&inner, at, "there is no such type"));
        Some((Value::Array(known), !unknown.is_empty()))
    }

    fn by_name(&mut self, keyword: &str, map: &Map<String, Value>, place: &str) -> Relaxed {
        let (mut kept, mut relaxed) = (Map::new(), false);
        for (name, value) in map {
            if keyword == "patternProperties"
                && let Some(reason) = self.wrong_with(name)
            {
                self.skip(place, name, reason);
                (relaxed, self.lost_pattern) = (true, true);
                continue;
            }
            // `dependencies` may list names instead.
            let (value, lenient) = match value {
                Value::Array(names) if keyword == "dependencies" && names.iter().all(Value::is_string) => {
                    (value.clone(), false)
                }
                Value::Array(_) if keyword == "dependencies" => {
                    self.skip(place, name, "its value is not valid");
                    relaxed = true;
                    continue;
                }
                _ => self.schema(value, &format!("{place}/{}", step(name))),
            };
            relaxed |= lenient;
            kept.insert(name.clone(), value);
        }
        (Value::Object(kept), relaxed)
    }

    fn reference(&mut self, holder: &Value, keyword: &str, value: &Value, place: &str) -> Option<Relaxed> {
        let reason = if self.endless.contains(&address(holder)) {
            "it leads back to itself without a step into the value"
        } else if !value.as_str().is_some_and(|reference| self.resolves(reference)) {
            "it leads to no schema in this document"
        } else {
            let encoded = value.as_str().map(encoded).map_or_else(|| value.clone(), Value::String);
            return Some((encoded, self.targets_are_relaxed));
        };
        self.skip(place, keyword, reason);
        None
    }

    fn resolves(&self, reference: &str) -> bool {
        let target = self.resolver.follow(reference).ok().flatten();
        target.is_some_and(|target| target.is_object() || target.is_boolean())
    }
}

/// A reference as an address has to be written. Many contain names with spaces or letters that an address must not have.
fn encoded(reference: &str) -> String {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    reference.bytes().fold(String::with_capacity(reference.len()), |mut text, byte| {
        match stays(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

/// A name as a step of a JSON pointer.
fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
