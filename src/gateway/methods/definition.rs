//! A tool as `tools/list` shows it.

use crate::identity::{Caller, takes_tasks};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use toolhub_engine::served::ShownTool;
use toolhub_protocol::Era;

const EXECUTION: &str = "execution";
const TASK_SUPPORT: &str = "taskSupport";

/// The definition of a tool, written without copies.
pub struct ToolDefinition<'a> {
    tool: ShownTool<'a>,
    /// The client may call it as a task, whatever its server says: the gateway runs the task.
    as_task: bool,
}

impl<'a> ToolDefinition<'a> {
    pub fn new(caller: &Caller, tool: ShownTool<'a>) -> Self {
        ToolDefinition { tool, as_task: caller.era == Era::Legacy && takes_tasks(caller) }
    }
}

impl Serialize for ToolDefinition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.tool.name)?;
        let spec = self.tool.spec();
        if !spec.description.is_empty() {
            map.serialize_entry("description", &*spec.description)?;
        }
        map.serialize_entry("inputSchema", &InputSchema(&spec.parameters))?;
        let annotations = self.tool.annotations();
        if !annotations.is_empty() {
            map.serialize_entry("annotations", &*annotations)?;
        }
        let mut extras = self.tool.definition_extras();
        let execution = extras.remove(EXECUTION);
        if let Some(execution) = with_task_support(execution, self.as_task) {
            map.serialize_entry(EXECUTION, &execution)?;
        }
        for (key, value) in &extras {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// How the tool runs. What its server says of tasks is between the server and the hub.
fn with_task_support(execution: Option<Value>, as_task: bool) -> Option<Map<String, Value>> {
    let mut execution = match execution {
        Some(Value::Object(execution)) => execution,
        _ => Map::new(),
    };
    execution.remove(TASK_SUPPORT);
    if as_task {
        execution.insert(TASK_SUPPORT.to_owned(), json!("optional"));
    }
    Some(execution).filter(|execution| !execution.is_empty())
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
