//! The schemas of the tools that the caller knows.

use std::collections::HashMap;

use serde_json::Value;

/// The JSON Schemas of the tools' arguments, by tool name.
pub trait ToolSchemas: Send + Sync {
    /// The schema of this tool's arguments; `None` for a tool that is not known.
    fn parameters(&self, tool: &str) -> Option<&Value>;
}

impl ToolSchemas for HashMap<String, Value> {
    fn parameters(&self, tool: &str) -> Option<&Value> {
        self.get(tool)
    }
}

/// The schema of a tool's parameter.
pub(super) fn parameter<'a>(tools: &'a dyn ToolSchemas, tool: &str, name: &str) -> Option<&'a Value> {
    property(tools.parameters(tool)?, name)
}

/// The schema of an object's property.
pub(super) fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
}
