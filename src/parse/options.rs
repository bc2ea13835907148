//! What the caller knows: the dialect of the model, and the tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::certainty::API_FORMATS;
use super::dialects;
use super::openings::Openings;
use super::reasoning::ReasoningMode;
use super::schemas::ToolSchemas;

/// How to parse a text. The default recognises every dialect and has no tools.
#[derive(Clone)]
pub struct ParseOptions {
    pub(super) openings: &'static Openings,
    pub(super) tools: Arc<dyn ToolSchemas>,
    pub(super) reasoning: ReasoningMode,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            openings: Openings::of(None),
            tools: Arc::new(HashMap::<String, Value>::new()),
            reasoning: ReasoningMode::default(),
        }
    }
}

impl fmt::Debug for ParseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = self.openings.asked.unwrap_or("auto");
        f.debug_struct("ParseOptions").field("format", &format).finish_non_exhaustive()
    }
}

impl ParseOptions {
    /// One dialect by name, or `auto`. The name of a chat API means `auto`: its messages are recognised by their structure,
    /// and their text may be in any dialect.
    pub fn format(name: &str) -> Result<Self, String> {
        let dialect = match name {
            "auto" => None,
            name if API_FORMATS.contains(&name) => None,
            name => Some(dialects::named(name).ok_or_else(|| {
                let known = dialects::names().join(", ");
                format!("There is no format \"{name}\"; use \"auto\" or one of: {known}.")
            })?),
        };
        Ok(Self { openings: Openings::of(dialect), ..Self::default() })
    }

    /// Where the text begins: inside of reasoning, outside of it, or to be found out.
    pub fn with_reasoning(mut self, reasoning: ReasoningMode) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// The tools with the JSON Schemas of their arguments, which give types to values written as plain text.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = (String, Value)>) -> Self {
        self.tools = Arc::new(tools.into_iter().collect::<HashMap<String, Value>>());
        self
    }

    /// As [`with_tools`](Self::with_tools), for schemas that are looked up when a call names their tool.
    pub fn with_schemas(mut self, schemas: Arc<dyn ToolSchemas>) -> Self {
        self.tools = schemas;
        self
    }

    /// As [`with_tools`](Self::with_tools), from descriptions in the form of the chat APIs: a list of `{"name", "parameters"}`, of
    /// `{"function": {…}}`, of Gemini's `{"functionDeclarations": […]}`, or with the schema as `input_schema` or `inputSchema`.
    /// Tools that the provider runs itself are left out.
    pub fn with_descriptions(self, tools: Value) -> Result<Self, String> {
        let Value::Array(tools) = tools else {
            return Err("tools must be a list of descriptions".to_owned());
        };
        let tools: Result<Vec<_>, String> =
            tools.into_iter().flat_map(declared).filter(|tool| !is_hosted(tool)).map(described).collect();
        Ok(self.with_tools(tools?))
    }
}

/// The declarations of a tool of Gemini, or the tool itself.
fn declared(tool: Value) -> Vec<Value> {
    let lists = ["functionDeclarations", "function_declarations"];
    match lists.iter().find_map(|key| tool.get(*key).and_then(Value::as_array)) {
        Some(list) => list.clone(),
        None => vec![tool],
    }
}

/// True for a tool without a name that the provider runs itself, such as `{"type": "web_search"}` or `{"googleSearch": {}}`.
fn is_hosted(tool: &Value) -> bool {
    let Value::Object(tool) = tool else { return false };
    let has_type = tool.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "function");
    let is_one_setting =
        tool.len() == 1 && tool.values().all(Value::is_object) && !tool.contains_key("function");
    !tool.contains_key("name") && (has_type || is_one_setting)
}

fn described(mut tool: Value) -> Result<(String, Value), String> {
    let tool = match tool.get_mut("function") {
        Some(inner) if inner.is_object() => inner.take(),
        _ => tool,
    };
    let Value::Object(mut tool) = tool else {
        return Err("each of the tools must be a description".to_owned());
    };
    let Some(Value::String(name)) = tool.remove("name") else {
        return Err("each of the tools must have a name".to_owned());
    };
    let schema = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"]
        .iter()
        .find_map(|key| tool.remove(*key));
    Ok((name, schema.unwrap_or_default()))
}
