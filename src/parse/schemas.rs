//! The schemas of the tools that the caller knows, and the values that they give to plain text.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::lenient::{self, MissingClosers, Notation};

/// References and unions are followed up to this depth.
const DEEPEST: usize = 16;

/// The keys that hold alternatives or parts of a schema.
const BRANCHES: &[&str] = &["anyOf", "oneOf", "allOf"];

/// The JSON Schemas of the tools' arguments, by tool name.
pub trait ToolSchemas: Send + Sync {
    /// The schema of this tool's arguments; `None` for a tool that is not known.
    fn parameters(&self, tool: &str) -> Option<&Value>;

    /// True if no tool is known.
    fn is_empty(&self) -> bool;

    /// False if nobody said which tools there are. One who executes calls always says so: a tool that is not here is not known.
    fn are_given(&self) -> bool {
        !self.is_empty()
    }

    /// Shows each tool and its schema.
    fn each(&self, show: &mut dyn FnMut(&str, &Value));
}

impl ToolSchemas for HashMap<String, Value> {
    fn parameters(&self, tool: &str) -> Option<&Value> {
        self.get(tool)
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn each(&self, show: &mut dyn FnMut(&str, &Value)) {
        self.iter().for_each(|(tool, schema)| show(tool, schema));
    }
}

/// A schema, and the one that its references point into.
#[derive(Clone, Copy)]
pub(super) struct SchemaView<'a> {
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> SchemaView<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self { root, schema: root }
    }

    /// The schema itself, without the references that lead to it, and all of its branches.
    fn branches(self) -> Vec<&'a Value> {
        let mut found = Vec::new();
        self.collect(self.schema, 0, &mut found);
        found
    }

    fn collect(self, schema: &'a Value, depth: usize, found: &mut Vec<&'a Value>) {
        // A schema may refer to itself.
        if depth > DEEPEST || found.iter().any(|seen| std::ptr::eq(*seen, schema)) {
            return;
        }
        found.push(schema);
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        if let Some(target) = target.and_then(|target| self.root.pointer(target)) {
            self.collect(target, depth + 1, found);
        }
        let branches = BRANCHES.iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
        branches.for_each(|branch| self.collect(branch, depth + 1, found));
    }

    /// The schema of a property. One that names it comes before one for all others.
    pub fn property(self, name: &str) -> Option<Self> {
        let others = |schema: &'a Value| schema.get("additionalProperties").filter(|any| any.is_object());
        let named = self.properties().find_map(|properties| properties.get(name));
        let schema = named.or_else(|| self.branches().into_iter().find_map(others))?;
        Some(Self { schema, ..self })
    }

    /// What each of its branches declares.
    fn properties(self) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.branches().into_iter().filter_map(|schema| schema.get("properties")?.as_object())
    }

    pub fn names(self, property: &str) -> bool {
        self.properties().any(|properties| properties.contains_key(property))
    }

    /// The schema of the items of a list.
    pub fn items(self) -> Option<Self> {
        let schema = self.branches().iter().find_map(|schema| schema.get("items"))?;
        Some(Self { schema, ..self })
    }

    /// True if the arguments have every property that the schema declares, and it takes no others that could follow.
    fn is_filled(self, arguments: &Map<String, Value>) -> bool {
        let branches = self.branches();
        let takes_others = |schema: &&Value| {
            schema.get("additionalProperties").is_some_and(|others| others.is_object() || others == true)
                || schema.get("patternProperties").is_some()
        };
        let is_closed =
            || branches.iter().any(|schema| schema.get("additionalProperties") == Some(&false.into()));
        (self.properties().next().is_some() || is_closed())
            && !branches.iter().any(takes_others)
            && self.missing(arguments).is_none()
    }

    /// The first declared property that the arguments do not have.
    fn missing(self, arguments: &Map<String, Value>) -> Option<&'a str> {
        let mut declared = self.properties().flat_map(Map::keys).map(String::as_str);
        declared.find(|name| !arguments.contains_key(*name))
    }

    /// The types that it allows, by their names in JSON Schema; empty if it does not restrict them.
    pub fn types(self) -> Vec<&'static str> {
        let branches = self.branches();
        let mut found = Vec::new();
        for schema in &branches {
            match schema.get("type") {
                Some(Value::String(kind)) => found.push(standard(kind)),
                Some(Value::Array(kinds)) => {
                    found.extend(kinds.iter().filter_map(Value::as_str).map(standard))
                }
                _ => {}
            }
        }
        if found.is_empty() {
            let values = branches.iter().flat_map(|schema| {
                let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
                listed.chain(schema.get("const"))
            });
            found.extend(values.map(kind_of));
        }
        found
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The name of a type in JSON Schema. Gemini writes types in capitals, and tools name those of programming languages.
fn standard(kind: &str) -> &'static str {
    match kind.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => "boolean",
        "number" | "float" | "double" | "decimal" => "number",
        "object" | "dict" | "map" | "mapping" => "object",
        "array" | "list" | "tuple" | "set" => "array",
        "null" | "none" | "nonetype" => "null",
        "integer" | "int" | "long" | "short" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8"
        | "uint16" | "uint32" | "uint64" => "integer",
        "string" | "str" | "text" => "string",
        _ => "any",
    }
}

/// What the schemas say about a call that is being read.
impl dyn ToolSchemas + '_ {
    /// The schema of a tool's parameter.
    pub(super) fn parameter(&self, tool: &str, name: &str) -> Option<SchemaView<'_>> {
        SchemaView::new(self.parameters(tool)?).property(name)
    }

    /// The only known tool among these names; `None` if there is none, or several.
    pub(super) fn only_known<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let mut known: Option<&str> = None;
        for name in names.into_iter().filter(|name| self.parameters(name).is_some()) {
            match known {
                Some(other) if other != name => return None,
                _ => known = Some(name),
            }
        }
        known
    }

    /// True if nothing can be missing of a call whose text ended between two arguments: the tool has no other ones. If nobody said
    /// which tools there are, nothing shows that another one was to come.
    pub(super) fn is_whole(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let is_filled = |schema| SchemaView::new(schema).is_filled(arguments);
        !self.are_given() || self.parameters(tool).is_some_and(is_filled)
    }

    /// True if a tool that is known has a parameter that the arguments lack.
    pub(super) fn lacks_some(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        self.parameters(tool).is_some_and(|schema| SchemaView::new(schema).missing(arguments).is_some())
    }

    /// True if a name between tags can be that of the next parameter: the tool has it, and the call does not have it yet. Of a
    /// tool that is not known, any can be.
    pub(super) fn may_follow(&self, tool: &str, name: &str, arguments: &Map<String, Value>) -> bool {
        let is_own = |schema: &Value| SchemaView::new(schema).names(name);
        !arguments.contains_key(name) && self.parameters(tool).is_none_or(is_own)
    }
}

// Values that a dialect writes as plain text, converted by the schema of the tool. Without a schema a value stays a string, unless
// it is a JSON object or list. With a schema, a value that fits none of its types stays a string too: validation reports it better.

/// The value of a text by its schema. `is_text`: its own tag declares it to be a string or JSON, of which a schema may know better.
pub(super) fn typed(text: &str, is_text: Option<bool>, schema: Option<SchemaView<'_>>) -> Value {
    if let Some(is_text) = is_text {
        let json = if is_text { None } else { whole(text.trim()) };
        let value = json.unwrap_or_else(|| text.into());
        return match schema {
            // `5` where a string is due: as it was written.
            Some(schema) if is_scalar(&value) && schema.types() == ["string"] => text.trim().into(),
            _ => by_schema(value, schema),
        };
    }
    let Some(types) = schema.map(SchemaView::types).filter(|types| !types.is_empty()) else {
        return structure(text).unwrap_or_else(|| text.into());
    };
    fitting(text, &types).unwrap_or_else(|| text.into())
}

/// The value of a text by the first of the types that it fits. Every text fits the type string, so it comes last.
fn fitting(text: &str, types: &[&str]) -> Option<Value> {
    let plain = text.trim();
    types.iter().find_map(|kind| match *kind {
        "null" => matches!(plain, "null" | "None" | "nil").then_some(Value::Null),
        "boolean" => match plain.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        "integer" => plain.parse::<Number>().ok().filter(|n| !n.is_f64()).map(Value::Number),
        "number" => plain.parse::<Number>().ok().map(Value::Number),
        "object" => container(text).filter(Value::is_object),
        "array" => container(text).filter(Value::is_array),
        _ => None,
    })
}

/// A value whose quotes contradict the schema: `"5"` where a number is due, `5` where a string is due.
pub(super) fn by_schema(value: Value, schema: Option<SchemaView<'_>>) -> Value {
    let types = schema.map(SchemaView::types).unwrap_or_default();
    match value {
        Value::String(text) if !types.iter().any(|kind| matches!(*kind, "string" | "any")) => {
            let fits = fitting(&text, &types).or_else(|| fitting(&without_zeros(&text)?, &types));
            fits.unwrap_or(Value::String(text))
        }
        value if is_scalar(&value) && types == ["string"] => value.to_string().into(),
        value => value,
    }
}

/// A number with leading zeros as JSON has it: `-007` is `-7`.
fn without_zeros(text: &str) -> Option<String> {
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.starts_with(|letter: char| letter.is_ascii_digit()) { "" } else { "0" };
    lenient::has_leading_zero(text).then(|| [sign, zero, kept].concat())
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Bool(_))
}

/// An object or a list where the schema wants one: its quotes may be escaped, or all of it may be in a string.
fn container(text: &str) -> Option<Value> {
    let text = text.trim();
    structure(text).or_else(|| {
        let inside = match text.starts_with('"') {
            true => serde_json::from_str::<String>(text).ok()?,
            false if text.contains("\\\"") => serde_json::from_str::<String>(&format!("\"{text}\"")).ok()?,
            false => return None,
        };
        structure(&inside)
    })
}

fn structure(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    whole(text)
}

/// The value of a text that is JSON to its end.
fn whole(text: &str) -> Option<Value> {
    let reading = lenient::read(text, Notation::Json, MissingClosers::NONE).ok()?;
    reading.whole.then_some(reading.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_schema_decides_the_type() {
        let cases = [
            ("0123", json!({"type": "string"}), json!("0123")),
            ("[1]", json!({"type": "string"}), json!("[1]")),
            (" 5 ", json!({"type": "integer"}), json!(5)),
            ("five", json!({"type": "integer"}), json!("five")),
            ("True", json!({"type": "boolean"}), json!(true)),
            ("None", json!({"type": ["string", "null"]}), json!(null)),
            ("x", json!({"type": ["string", "null"]}), json!("x")),
            ("2.5", json!({"anyOf": [{"type": "number"}, {"type": "string"}]}), json!(2.5)),
            ("{'a': 1}", json!({"type": "object"}), json!({"a": 1})),
            ("2", json!({"enum": [1, 2]}), json!(2)),
            ("2", json!({"type": "INTEGER"}), json!(2)),
            ("2.5", json!({"type": "float"}), json!(2.5)),
            ("2", json!({"type": "int"}), json!(2)),
            ("{\"a\": 1}", json!({"type": "dict"}), json!({"a": 1})),
            ("2", json!({"type": "str"}), json!("2")),
            ("{\\\"a\\\": 1}", json!({"type": "object"}), json!({"a": 1})),
            ("\"[1]\"", json!({"type": "array"}), json!([1])),
            ("2", json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}), json!(2)),
            ("2", json!({"$ref": "#"}), json!("2")),
        ];
        for (text, schema, value) in cases {
            assert_eq!(typed(text, None, Some(SchemaView::new(&schema))), value, "{text} by {schema}");
        }
        assert_eq!(typed("5", None, None), json!("5"));
        assert_eq!(typed(r#"{"a": 5}"#, None, None), json!({"a": 5}));
    }
}
