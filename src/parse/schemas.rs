//! The schemas of the tools that the caller knows.

use std::collections::HashMap;

use serde_json::{Map, Value};

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
        let branches = self.branches();
        let named = || branches.iter().find_map(|schema| schema.get("properties")?.get(name));
        let other = || {
            branches
                .iter()
                .find_map(|schema| schema.get("additionalProperties").filter(|any| any.is_object()))
        };
        let schema = named().or_else(other)?;
        Some(Self { schema, ..self })
    }

    pub fn names(self, property: &str) -> bool {
        self.branches().iter().any(|schema| {
            schema.get("properties").is_some_and(|properties| properties.get(property).is_some())
        })
    }

    /// The schema of the items of a list.
    pub fn items(self) -> Option<Self> {
        let schema = self.branches().iter().find_map(|schema| schema.get("items"))?;
        Some(Self { schema, ..self })
    }

    /// True if the arguments have every property that the schema declares, and it takes no others that could follow.
    fn is_filled(self, arguments: &Map<String, Value>) -> bool {
        let branches = self.branches();
        let declared = || branches.iter().filter_map(|schema| schema.get("properties")?.as_object());
        let takes_others = |schema: &&Value| {
            schema.get("additionalProperties").is_some_and(|others| others.is_object() || others == true)
                || schema.get("patternProperties").is_some()
        };
        let is_closed =
            || branches.iter().any(|schema| schema.get("additionalProperties") == Some(&false.into()));
        (declared().next().is_some() || is_closed())
            && !branches.iter().any(takes_others)
            && self.missing(arguments).is_none()
    }

    /// The first declared property that the arguments do not have.
    fn missing(self, arguments: &Map<String, Value>) -> Option<&'a str> {
        let declared = self.branches().into_iter().filter_map(|schema| schema.get("properties")?.as_object());
        declared.flat_map(Map::keys).map(String::as_str).find(|name| !arguments.contains_key(*name))
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
