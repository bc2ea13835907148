//! What a tool says about itself.

use super::{Effects, Strategy};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The description of one tool of one source. Shared, never changed after registration.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON Schema of the arguments; key order is kept.
    pub parameters: Arc<Value>,
    pub capabilities: Vec<Arc<str>>,
    pub effects: Effects,
    pub idempotent: bool,
    /// MCP-style hints as they were given; unknown ones are kept.
    pub annotations: Map<String, Value>,
    pub examples: Vec<Value>,
    pub category: Option<Arc<str>>,
    pub version: Option<Arc<str>>,
    pub timeout: Option<Duration>,
    /// How the candidates of this name are used, unless a call says otherwise.
    pub strategy: Option<Strategy>,
    pub max_concurrency: Option<usize>,
    /// Where the `SKILL.md` of a skill is, a path or a URI. Such a tool gives instructions; others have none.
    pub location: Option<Arc<str>>,
    /// Not for models: in no prompt, and a model's call is refused. Programs call it by name.
    pub is_hidden: bool,
}

impl ToolSpec {
    /// A spec with nothing but a name; the other fields are filled in by whoever knows them.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        ToolSpec {
            name,
            description: Arc::from(""),
            parameters: Arc::new(serde_json::json!({"type": "object"})),
            capabilities: Vec::new(),
            effects: Effects::UNKNOWN,
            idempotent: false,
            annotations: Map::new(),
            examples: Vec::new(),
            category: None,
            version: None,
            timeout: None,
            strategy: None,
            max_concurrency: None,
            location: None,
            is_hidden: false,
        }
    }

    pub fn has_capability(&self, tag: &str) -> bool {
        self.capabilities.iter().any(|c| &**c == tag)
    }

    /// The argument that a bare value is for: the only required one, or the only one at all.
    pub fn single_argument(&self) -> Option<&str> {
        let properties = self.parameters.get("properties")?.as_object()?;
        let required = self.parameters.get("required").and_then(Value::as_array);
        match required.map(Vec::as_slice) {
            Some([one]) => one.as_str().filter(|name| properties.contains_key(*name)),
            None | Some([]) if properties.len() == 1 => properties.keys().next().map(String::as_str),
            _ => None,
        }
    }
}

/// Tags as they are looked for: in lower case, each once.
pub fn tags(given: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(parameters: Value) -> ToolSpec {
        ToolSpec { parameters: Arc::new(parameters), ..ToolSpec::named("t") }
    }

    #[test]
    fn a_bare_value_goes_to_the_only_required_argument() {
        let spec = with(json!({"properties": {"a": {}, "b": {}}, "required": ["b"]}));
        assert_eq!(spec.single_argument(), Some("b"));
        assert_eq!(with(json!({"properties": {"a": {}}})).single_argument(), Some("a"));
        assert_eq!(
            with(json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]})).single_argument(),
            None
        );
        assert_eq!(with(json!({"type": "object"})).single_argument(), None);
        assert_eq!(with(json!({"properties": {"a": {}}, "required": ["ghost"]})).single_argument(), None);
    }
}
