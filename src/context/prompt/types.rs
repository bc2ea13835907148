//! The type and limits of a value, in a few words: `string or null, one of "a", "b"`.

use super::clean::line;
use super::schema::SchemaShape;
use serde_json::Value;
use std::cell::Cell;
use std::fmt::Write;
use toolhub_types::model::Lang;

const LITERAL: usize = 60;
const LISTED: usize = 20;
const BRANCHES: usize = 6;
/// The depth to which item types are described.
const DEEPEST: usize = 4;

/// The number of types described for one tool: references that are used repeatedly multiply.
const WORK: usize = 2_000;

pub struct Types {
    lang: Lang,
    left: Cell<usize>,
}

impl Types {
    pub fn new(lang: Lang) -> Self {
        Types { lang, left: Cell::new(WORK) }
    }

    /// True if one more type may be described.
    pub fn goes_on(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() > 0
    }

    /// The type and its limits.
    pub fn phrase(&self, out: &mut String, shape: &SchemaShape<'_>, depth: usize) {
        if !self.goes_on() {
            out.push('…');
            return;
        }
        let begun = out.len();
        self.kind(out, shape, depth);
        let go_on = |out: &mut String| {
            if out.len() > begun {
                out.push_str(self.lang.pick(", ", "，"));
            }
        };
        if let Some(options) = shape.options() {
            go_on(out);
            out.push_str(&options_in_words(&options, self.lang));
        } else if let Some(only) = shape.get("const") {
            go_on(out);
            out.push_str(self.lang.pick("always ", "固定为 "));
            out.push_str(&literal(only));
        }
        for limit in limits(shape, self.lang) {
            go_on(out);
            out.push_str(&limit);
        }
        if out.len() == begun {
            out.push_str(if shape.never { "nothing" } else { "any" });
        }
    }

    /// The bare type; nothing if the values imply it.
    fn kind(&self, out: &mut String, shape: &SchemaShape<'_>, depth: usize) {
        if shape.repeats {
            out.push_str(&line(shape.name().unwrap_or("object"), LITERAL, self.lang));
            out.push_str(self.lang.pick(" as above", "（同上）"));
            return;
        }
        let types = shape.types();
        if !shape.has_branches() || types.as_slice() == ["object"] {
            match types.as_slice() {
                [] if shape.get("enum").or_else(|| shape.get("const")).is_some() => return,
                [] => {}
                [only] => self.named(out, only, shape, depth),
                several => {
                    let named = several.iter().map(|name| {
                        let mut one = String::new();
                        self.named(&mut one, name, shape, depth);
                        one
                    });
                    self.joined(out, named.collect());
                }
            }
            if shape.get("nullable") == Some(&Value::Bool(true)) {
                let _ = write!(out, " {} null", self.lang.pick("or", "或"));
            }
            return;
        }
        if depth >= DEEPEST {
            return;
        }
        let mut words: Vec<String> = Vec::new();
        let possible = shape.branches().into_iter().filter(|one| !one.never);
        for branch in possible {
            let mut one = String::new();
            self.phrase(&mut one, &branch, depth + 1);
            if !words.contains(&one) {
                words.push(one);
            }
        }
        self.joined(out, words);
    }

    fn joined(&self, out: &mut String, words: Vec<String>) {
        let (shown, more) = (words.len().min(BRANCHES), words.len().saturating_sub(BRANCHES));
        for (at, one) in words.iter().take(shown).enumerate() {
            if at > 0 {
                out.push_str(self.lang.pick(" or ", " 或 "));
            }
            out.push_str(one);
        }
        if more > 0 {
            let _ = match self.lang {
                Lang::En => write!(out, " or {more} more"),
                Lang::Zh => write!(out, " 或另外 {more} 种"),
            };
        }
    }

    fn named(&self, out: &mut String, name: &str, shape: &SchemaShape<'_>, depth: usize) {
        match name {
            "array" => self.array(out, shape, depth),
            "object" => self.object(out, shape, depth),
            other => out.push_str(&line(other, LITERAL, self.lang)),
        }
    }

    fn object(&self, out: &mut String, shape: &SchemaShape<'_>, depth: usize) {
        out.push_str("object");
        if let Some(keys) = self.patterns(shape, depth) {
            let _ = write!(out, "{}{keys}", self.lang.pick(" with ", "，"));
        } else if let Some(values) = shape.values().filter(|_| !shape.has_properties() && depth < DEEPEST) {
            out.push_str(self.lang.pick(" with values: ", "，其值为："));
            self.phrase(out, &shape.below(values), depth + 1);
        }
    }

    /// The keys that an object accepts in addition to its properties, if patterns define them.
    pub fn patterns(&self, shape: &SchemaShape<'_>, depth: usize) -> Option<String> {
        let patterns = shape.get("patternProperties")?.as_object().filter(|all| !all.is_empty())?;
        if depth >= DEEPEST {
            return None;
        }
        let mut out = self.lang.pick("keys matching ", "键匹配 ").to_owned();
        for (at, (pattern, values)) in patterns.iter().take(BRANCHES).enumerate() {
            out.push_str(if at == 0 { "" } else { ", " });
            out.push_str(&line(pattern, LITERAL, self.lang));
            out.push_str(self.lang.pick(" (", "（"));
            self.phrase(&mut out, &shape.below(values), depth + 1);
            out.push_str(self.lang.pick(")", "）"));
        }
        out.push_str(if patterns.len() > BRANCHES { ", …" } else { "" });
        Some(out)
    }

    fn array(&self, out: &mut String, shape: &SchemaShape<'_>, depth: usize) {
        if depth >= DEEPEST {
            out.push_str("array");
            return;
        }
        let tuple_items = shape.tuple_items();
        if !tuple_items.is_empty() {
            out.push_str("array [");
            for (at, place) in tuple_items.iter().take(BRANCHES).enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                self.phrase(out, &shape.below(place), depth + 1);
            }
            out.push_str(if tuple_items.len() > BRANCHES { ", …]" } else { "]" });
            return;
        }
        let mut inner = String::new();
        if let Some(item) = shape.item() {
            self.phrase(&mut inner, &shape.below(item), depth + 1);
        }
        match (inner.as_str(), self.lang) {
            ("" | "any", _) => out.push_str("array"),
            (one @ ("string" | "integer" | "number" | "boolean" | "object" | "array"), Lang::En) => {
                let _ = write!(out, "array of {one}s");
            }
            (one, Lang::En) => {
                let _ = if one.contains([' ', ',']) {
                    write!(out, "array of ({one})")
                } else {
                    write!(out, "array of {one}")
                };
            }
            (one, Lang::Zh) => {
                let _ = write!(out, "array<{one}>");
            }
        }
    }
}

/// The other keywords that limit a value, one phrase each.
pub fn limits(shape: &SchemaShape<'_>, lang: Lang) -> Vec<String> {
    let mut found = Vec::new();
    // Most values have none: one look at the starts of the keywords costs less than a lookup for each.
    let may_limit =
        |key: &String| ["m", "ex", "format", "pattern", "unique"].iter().any(|start| key.starts_with(start));
    if !shape.layers().any(|layer| layer.keys().any(may_limit)) {
        return found;
    }
    let number = |key: &str| shape.get(key).filter(|value| value.is_number());
    let mut between = |low: Option<&Value>, high: Option<&Value>, en: &str, zh: &str| match (low, high, lang)
    {
        (Some(low), Some(high), Lang::En) if low == high => found.push(format!("exactly {low}{en}")),
        (Some(low), Some(high), Lang::En) => found.push(format!("{low} to {high}{en}")),
        (Some(low), Some(high), Lang::Zh) => found.push(format!("{low} 到 {high}{zh}")),
        (Some(low), None, Lang::En) => found.push(format!("at least {low}{en}")),
        (Some(low), None, Lang::Zh) => found.push(format!("至少 {low}{zh}")),
        (None, Some(high), Lang::En) => found.push(format!("at most {high}{en}")),
        (None, Some(high), Lang::Zh) => found.push(format!("至多 {high}{zh}")),
        (None, None, _) => {}
    };
    between(number("minimum"), number("maximum"), "", "");
    between(number("minLength"), number("maxLength"), " characters", " 个字符");
    between(number("minItems"), number("maxItems"), " items", " 项");
    between(number("minProperties"), number("maxProperties"), " keys", " 个键");
    for (key, en, zh) in [
        ("exclusiveMinimum", "more than", "大于"),
        ("exclusiveMaximum", "less than", "小于"),
        ("multipleOf", "a multiple of", "倍数："),
    ] {
        found.extend(number(key).map(|limit| format!("{} {limit}", lang.pick(en, zh))));
    }
    if let Some(format) = shape.text("format") {
        found.push(line(format, LITERAL, lang).into_owned());
    }
    if let Some(pattern) = shape.text("pattern") {
        let pattern = line(pattern, LITERAL, lang);
        found.push(format!("{} {pattern}", lang.pick("matching", "匹配")));
    }
    if shape.get("uniqueItems") == Some(&Value::Bool(true)) {
        found.push(lang.pick("all different", "互不相同").to_owned());
    }
    found
}

pub fn options_in_words(options: &[Value], lang: Lang) -> String {
    let listed: Vec<String> = options.iter().take(LISTED).map(literal).collect();
    let mut words = format!("{}{}", lang.pick("one of ", "可选值 "), listed.join(", "));
    if let Some(more) = options.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = match lang {
            Lang::En => write!(words, ", … {more} more"),
            Lang::Zh => write!(words, ", … 另外 {more} 个"),
        };
    }
    words
}

/// A value as JSON on one line, truncated if it is long.
pub fn literal(value: &Value) -> String {
    line(&value.to_string(), LITERAL, Lang::En).into_owned()
}

/// A default as people write it: plain words without quotes. A model may copy it, so its limit is longer than that of other
/// values.
pub fn default(value: &Value) -> String {
    const LONGEST: usize = 300;
    let plain = |text: &str| {
        !text.is_empty()
            && text.len() <= LONGEST
            && text.chars().all(|c| c.is_alphanumeric() || "_-./:".contains(c))
            && serde_json::from_str::<Value>(text).is_err()
    };
    match value {
        Value::String(text) if plain(text) => text.clone(),
        other => line(&other.to_string(), LONGEST, Lang::En).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn type_words(schema: Value) -> String {
        let types = Types::new(Lang::En);
        let mut out = String::new();
        types.phrase(&mut out, &SchemaShape::of(&schema), 0);
        out
    }

    #[test]
    fn types_read_like_words() {
        for (schema, words) in [
            (json!({"type": "string"}), "string"),
            (json!({}), "any"),
            (json!(true), "any"),
            (json!({"type": ["string", "null"]}), "string or null"),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "integer or null"),
            (json!({"type": "string", "nullable": true}), "string or null"),
            (json!({"enum": ["a", 1]}), "one of \"a\", 1"),
            (json!({"type": "string", "enum": ["a"]}), "string, one of \"a\""),
            (json!({"const": "x"}), "always \"x\""),
            (json!({"type": "array", "items": {"type": "string"}}), "array of strings"),
            (json!({"items": {"type": "array", "items": {"type": "number"}}}), "array of (array of numbers)"),
            (json!({"type": "array", "prefixItems": [{"type": "string"}, {}]}), "array [string, any]"),
            (
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "object with values: integer",
            ),
            (
                json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}, "y": {}}}),
                "object with keys matching ^x- (integer), y (any)",
            ),
            (json!({"type": "integer", "minimum": 1, "maximum": 9}), "integer, 1 to 9"),
            (
                json!({"type": "string", "format": "date-time", "maxLength": 40}),
                "string, at most 40 characters, date-time",
            ),
            (json!({"oneOf": [{"const": 1}, {"type": "string"}]}), "always 1 or string"),
        ] {
            assert_eq!(type_words(schema), words);
        }
    }

    #[test]
    fn defaults_are_quoted_only_where_they_could_be_misread() {
        for (value, words) in [
            (json!("A1"), "A1"),
            (json!("true"), "\"true\""),
            (json!(true), "true"),
            (json!("two words"), "\"two words\""),
        ] {
            assert_eq!(default(&value), words);
        }
    }
}
