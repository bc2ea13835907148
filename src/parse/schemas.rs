//! The schemas of the tools that the caller knows.

use std::collections::HashMap;

use serde_json::Value;

/// The JSON Schemas of the tools' arguments, by tool name.
pub(super) type ToolSchemas = HashMap<String, Value>;

/// The schema of a tool's parameter.
pub(super) fn parameter<'a>(tools: &'a ToolSchemas, tool: &str, name: &str) -> Option<&'a Value> {
    property(tools.get(tool)?, name)
}

/// The schema of an object's property.
pub(super) fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
}
