//! A server's answer to `tools/call` as a result of the hub.

use crate::mcp::proof;
use crate::mcp::protocol::Era;
use crate::mcp::questions::{self, InputRequests};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use toolhub_registry::schema::Schema;
use toolhub_text::invisible::error_line;
use toolhub_text::{Message, message};
use toolhub_types::blocking;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::ToolOutput;

/// In characters: what a tool says about its failure is cut to this length.
const MAX_REPORTED: usize = 20_000;

/// What a call came to in one round.
pub enum CallAnswer {
    Done(Box<ToolOutput>),
    /// The server wants something first: its questions, and a text to give back unchanged.
    NeedsInput(InputRequests),
    /// The server works on it and wants to be asked later.
    Task(Value),
}

/// Members that a final answer has.
const RESULTS: [&str; 3] = ["content", "structuredContent", "task"];

/// Reads one answer. A final one keeps the raw text if `keep_raw`. Only the modern era has answers that are not final; a type that
/// nobody knows may be one, in either era.
pub fn answer(tool: &str, raw: Box<RawValue>, era: Era, keep_raw: bool) -> Result<CallAnswer> {
    let value: Value = serde_json::from_str(raw.get())
        .map_err(|error| unreadable(message!("the answer of '{}': {}", clip(tool), error)))?;
    let Value::Object(mut map) = value else {
        return Err(unreadable(message!("the answer of '{}' is not an object", clip(tool))));
    };
    let kind = map.get("resultType").filter(|kind| !kind.is_null()).cloned();
    match (era, kind.as_ref().map(|kind| kind.as_str().unwrap_or_default())) {
        (_, None | Some("complete")) => {}
        (Era::Modern, Some("input_required")) => {
            let asked = questions::requested(&mut map);
            // The same request once more would be a second call.
            if asked.0.is_empty() && asked.1.is_none() {
                return Err(unreadable(message!("'{}' asks for input without saying which", clip(tool))));
            }
            return Ok(CallAnswer::NeedsInput(asked));
        }
        (Era::Modern, Some("task")) => return Ok(CallAnswer::Task(Value::Object(map))),
        // The older protocol has neither of these, and a result that is there is one.
        (Era::Legacy, Some("input_required" | "task"))
            if RESULTS.iter().any(|member| map.contains_key(*member)) => {}
        (_, Some(unknown)) => {
            let what = message!("the answer of '{}' is of the unknown type '{}'", clip(tool), clip(unknown));
            return Err(unreadable(what));
        }
    }
    // The older protocol has the task inside, and no word for it outside.
    if let Some(task) = map.get("task").filter(|task| task.get("taskId").is_some_and(Value::is_string))
        && !map.contains_key("content")
    {
        return Ok(CallAnswer::Task(task.clone()));
    }
    finished(tool, map, keep_raw.then(|| Arc::from(raw))).map(|output| CallAnswer::Done(Box::new(output)))
}

/// A result that is final.
pub fn finished(tool: &str, mut map: Map<String, Value>, raw: Option<Arc<RawValue>>) -> Result<ToolOutput> {
    let content = match map.remove("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return Err(unreadable(message!("the content of '{}' is not a list", clip(tool)))),
    };
    let structured = map.remove("structuredContent").filter(|value| !value.is_null());
    let has_failed = match map.get("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(has_failed)) => *has_failed,
        Some(_) => return Err(unreadable(message!("'isError' of '{}' is not true or false", clip(tool)))),
    };
    if has_failed {
        let message = reported(tool, &content, structured.as_ref());
        let meta = map.remove("_meta");
        let outcome = proof::of_report(meta.as_ref());
        let content = Some(Value::Array(content));
        return Err(HubError {
            answer: Some(Arc::new(ToolOutput { content, structured, meta, raw, ..ToolOutput::default() })),
            ..HubError::new(ErrorKind::ToolError, message).with_outcome(outcome)
        });
    }
    let value = match (&structured, content.as_slice()) {
        (Some(value), _) => value.clone(),
        (None, [Value::Object(block)]) if block.get("type").and_then(Value::as_str) == Some("text") => {
            block.get("text").cloned().unwrap_or_default()
        }
        (None, _) => Value::Array(content.clone()),
    };
    Ok(ToolOutput { value, content: Some(Value::Array(content)), structured, meta: map.remove("_meta"), raw })
}

/// Takes off the `{"result": …}` that Python servers put around values that are not objects. `structured` keeps it.
///
/// `is_marked`: the output schema of the tool says so. Without a mark the text must say the same as the value.
pub fn unwrapped(mut output: ToolOutput, is_marked: bool) -> ToolOutput {
    let Some(Value::Object(map)) = &output.structured else { return output };
    let (Some(inner), 1) = (map.get("result"), map.len()) else { return output };
    let content = output.content.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if is_marked || says_the_same(content, inner) {
        output.value = inner.clone();
    }
    output
}

/// Whether the texts of the content are this value: one text, or one for each item of a list. Media may stand beside them.
fn says_the_same(content: &[Value], value: &Value) -> bool {
    let texts: Vec<&str> = content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    match (texts.as_slice(), value) {
        ([], Value::Null) => content.is_empty(),
        ([text], value) if is_text_of(text, value) => true,
        (texts, Value::Array(items)) => {
            texts.len() == items.len() && texts.iter().zip(items).all(|(text, item)| is_text_of(text, item))
        }
        _ => false,
    }
}

/// Whether a text is this value as it is, or as JSON. Servers write 1.0 as `1` too.
fn is_text_of(text: &str, value: &Value) -> bool {
    if value.as_str() == Some(text) {
        return true;
    }
    let Ok(read) = serde_json::from_str::<Value>(text) else { return false };
    read == *value || read.as_f64().is_some_and(|read| value.as_f64() == Some(read))
}

/// The tool ran and says that it failed; what it says is its text.
fn reported(tool: &str, content: &[Value], structured: Option<&Value>) -> Message {
    let texts: Vec<&str> = content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let said = match structured {
        Some(value) if texts.is_empty() => value.to_string(),
        _ => texts.join("\n"),
    };
    match error_line(&said, MAX_REPORTED) {
        none if none.is_empty() => message!("Tool '{}' reported an error without saying which.", clip(tool)),
        said => said.into(),
    }
}

/// The error of an answer to a call that cannot be read: the tool may have run.
pub fn unreadable(what: impl Into<Message>) -> HubError {
    protocol(what.into()).with_outcome(Outcome::Unknown)
}

/// The error of an answer that cannot be read. `to`: what was asked.
pub fn wrong_answer(to: impl fmt::Display, why: impl Into<Message>) -> HubError {
    protocol(message!("{}: {}", to, why.into()))
}

pub fn protocol(what: Message) -> HubError {
    HubError::new(ErrorKind::Protocol, message!("Failed to parse MCP response: {}", what))
}

/// What is wrong with a value that a server sent, by a schema of the server, and the value itself. The check must not delay other
/// servers: one that takes more than about a millisecond runs on another thread.
pub async fn violations(schema: &Arc<Schema>, value: Value) -> (Value, Option<Message>) {
    if !schema.takes_long(&value) {
        let violations = schema.violations(&value);
        return (value, violations);
    }
    let schema = schema.clone();
    let checked = blocking::on_blocking_thread(move || {
        let violations = schema.violations(&value);
        (value, violations)
    });
    checked.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Takes long for a long list, and is within the bound.
    fn costly() -> Value {
        let item = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
        json!({"properties": {"a": {"items": item}, "b": {"type": "integer"}}})
    }

    #[tokio::test]
    async fn other_tasks_take_turns_during_a_long_check() {
        let schema = Arc::new(Schema::new(Arc::new(costly())));
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let long = vec![1; 50_000];
        for (value, fits) in [(json!({"a": long, "b": 1}), true), (json!({"a": long, "b": "many"}), false)] {
            assert!(schema.takes_long(&value));
            let before = turns.load(Ordering::Relaxed);
            let (same, violations) = violations(&schema, value.clone()).await;
            assert_eq!((same, violations.is_none()), (value, fits), "{violations:?}");
            assert!(turns.load(Ordering::Relaxed) > before);
        }
        other.abort();
    }
}
