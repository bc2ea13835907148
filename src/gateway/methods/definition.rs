//! A tool as `tools/list` shows it.

use crate::gateway::caller::Caller;
use crate::gateway::capability::takes_tasks;
use crate::gateway::view::View;
use crate::model::protocol::Era;
use crate::model::{Evidence, Safety};
use crate::registry::{Candidate, NameEntry};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

const EXECUTION: &str = "execution";
const TASK_SUPPORT: &str = "taskSupport";

/// The definition of a tool, written without copies.
pub struct ToolDefinition<'a> {
    pub name: &'a str,
    /// The provider whose definition stands for the tool.
    pub shown: &'a Candidate,
    annotations: Cow<'a, Map<String, Value>>,
    /// The client may call it as a task, whatever its server says: the gateway runs the task.
    pub as_task: bool,
}

impl<'a> ToolDefinition<'a> {
    /// As the caller sees the tool.
    pub fn new(caller: &Caller, name: &'a str, entry: &'a NameEntry) -> Option<Self> {
        let as_task = caller.era == Era::Legacy && takes_tasks(caller);
        let shown = caller.view.shown(entry)?;
        let annotations = annotations(&caller.view, entry, &shown.spec().annotations);
        Some(ToolDefinition { name, shown, annotations, as_task })
    }
}

/// The annotations of a tool with what the hub knows of its effects, so that a client is as careful as the hub itself: what the
/// user has declared is added, and a claim to be read-only is taken back where the hub does not believe it, or where a call
/// may go to another provider that is not harmless.
fn annotations<'a>(
    view: &View,
    entry: &NameEntry,
    given: &'a Map<String, Value>,
) -> Cow<'a, Map<String, Value>> {
    let hint = |key: &str| given.get(key).and_then(Value::as_bool);
    let admitted = || entry.candidates.iter().filter(|one| view.admits(one)).map(|one| one.spec());
    let Some(effects) = admitted().map(|spec| spec.effects).max_by_key(|effects| effects.safety) else {
        return Cow::Borrowed(given);
    };
    let is_ours = matches!(
        effects.evidence,
        Evidence::Registration | Evidence::ServerOption(_) | Evidence::Instructions
    );
    let (read_only, is_claimed) = (effects.safety == Safety::Harmless, hint("readOnlyHint") == Some(true));
    let mut added = Map::new();
    if is_ours && hint("readOnlyHint") != Some(read_only) || is_claimed && !read_only {
        added.insert("readOnlyHint".to_owned(), json!(read_only));
    }
    if is_ours && read_only && hint("destructiveHint") == Some(true) {
        added.insert("destructiveHint".to_owned(), json!(false));
    }
    if hint("idempotentHint").is_none() && admitted().all(|spec| spec.idempotent) {
        added.insert("idempotentHint".to_owned(), json!(true));
    }
    if added.is_empty() {
        return Cow::Borrowed(given);
    }
    let mut all = given.clone();
    all.extend(added);
    Cow::Owned(all)
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
        if !self.annotations.is_empty() {
            map.serialize_entry("annotations", &*self.annotations)?;
        }
        let mut extras = self.shown.tool.definition_extras();
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
