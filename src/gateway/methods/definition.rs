//! A tool as `tools/list` shows it.

use crate::gateway::view::View;
use crate::registry::{Candidate, NameEntry};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

/// The definition of a tool, written without copies.
pub struct ToolDefinition<'a> {
    pub name: &'a str,
    /// The provider whose definition stands for the tool.
    pub shown: &'a Candidate,
}

impl<'a> ToolDefinition<'a> {
    /// As the callers of a view see the tool.
    pub fn new(view: &View, name: &'a str, entry: &'a NameEntry) -> Option<Self> {
        view.shown(entry).map(|shown| ToolDefinition { name, shown })
    }
}

impl Serialize for ToolDefinition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        let spec = self.shown.spec();
        if !spec.description.is_empty() {
            map.serialize_entry("description", &*spec.description)?;
        }
        map.serialize_entry("inputSchema", &InputSchema(&spec.parameters))?;
        if !spec.annotations.is_empty() {
            map.serialize_entry("annotations", &spec.annotations)?;
        }
        for (key, value) in &self.shown.tool.definition_extras() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A schema of arguments. The protocol requires `type: "object"` at its root.
struct InputSchema<'a>(&'a Value);

impl Serialize for InputSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(schema) if schema.get("type").and_then(Value::as_str) == Some("object") => {
                schema.serialize(serializer)
            }
            Value::Object(schema) => {
                let mut typed = Map::new();
                typed.insert("type".to_owned(), json!("object"));
                typed.extend(
                    schema.iter().filter(|(key, _)| *key != "type").map(|(k, v)| (k.clone(), v.clone())),
                );
                typed.serialize(serializer)
            }
            _ => json!({"type": "object"}).serialize(serializer),
        }
    }
}
