//! What a server offers: `tools/list` with all its pages, read entry by entry.

use crate::mcp::connection::Connection;
use crate::mcp::pages::{self, Fetched, PagedList};
use crate::mcp::protocol::Era;
use crate::mcp::wire::clean;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use toolhub_protocol::param_headers::{Mirrored, mirrored};
use toolhub_text::invisible::is_invisible;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, NOW_KEY, Result, shown_seconds};

const MAX_TOOLS: usize = 100_000;
const MAX_NAME: usize = 1_000;
const MAX_DESCRIPTION: usize = 100_000;

/// One tool as its server describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// As the server knows it.
    pub name: Arc<str>,
    /// Without escapes and invisible characters.
    pub description: String,
    pub title: Option<String>,
    pub input_schema: Arc<Value>,
    pub output_schema: Option<Arc<Value>>,
    pub annotations: Map<String, Value>,
    /// An older server takes calls of it as tasks only.
    pub needs_task: bool,
    /// Arguments that are also sent as headers, in the modern era over HTTP.
    pub headers: Vec<Mirrored>,
    /// The members that the hub does not use, such as `icons` and `_meta`. They are not part of what a pin accepts.
    pub other: Map<String, Value>,
}

impl Listed {
    /// Its definition as the protocol writes it.
    pub fn to_json(&self) -> Value {
        let members = [
            ("name", Some(Value::String(self.name.to_string()))),
            ("title", self.title.clone().map(Value::String)),
            ("description", Some(Value::String(self.description.clone()))),
            ("inputSchema", Some(Value::clone(&self.input_schema))),
            ("outputSchema", self.output_schema.as_deref().cloned()),
            ("annotations", Some(self.annotations.clone()).filter(|all| !all.is_empty()).map(Value::Object)),
            ("execution", self.needs_task.then(|| json!({"taskSupport": "required"}))),
        ];
        members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// What the definition has in addition to the name, the description, the schema of the arguments and the annotations.
    pub fn extras(&self) -> Map<String, Value> {
        let mut extras = self.other.clone();
        extras.extend(self.title.clone().map(|title| ("title".to_owned(), Value::String(title))));
        extras
            .extend(self.output_schema.as_deref().map(|schema| ("outputSchema".to_owned(), schema.clone())));
        extras
    }

    /// Its definition with the members that the hub does not use.
    fn to_stored_json(&self) -> Value {
        let mut entry = self.to_json();
        self.other.iter().for_each(|(key, value)| entry[key] = value.clone());
        entry
    }

    /// A tool of which only the name is known.
    pub fn unlisted(name: &str) -> Self {
        let input_schema = Arc::new(json!({"type": "object"}));
        Listed { name: Arc::from(name), input_schema, ..Listed::default() }
    }
}

/// A tool as a program has listed it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedBy {
    pub tool: Arc<Listed>,
    /// The version that the server's program gives itself.
    pub program_version: Option<Arc<str>>,
}

impl ListedBy {
    /// All by which a call recognises the tool.
    pub fn to_json(&self) -> Value {
        let mut entry = self.tool.to_stored_json();
        entry["program_version"] = self.program_version.as_deref().into();
        entry
    }
}

/// The tools of a server at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    pub tools: Vec<Arc<Listed>>,
    /// What was left out, and why.
    pub notices: Vec<String>,
    /// For how long the server says that this holds.
    pub ttl_ms: Option<u64>,
    /// The version of the program that listed them.
    pub program_version: Option<Arc<str>>,
}

impl Listing {
    /// The tool of this name, the server's own.
    pub fn find(&self, name: &str) -> Option<ListedBy> {
        let tool = self.tools.iter().find(|tool| &*tool.name == name)?;
        Some(ListedBy { tool: tool.clone(), program_version: self.program_version.clone() })
    }

    /// Takes over what has not changed since an earlier list, so that a call recognises it without a look at its members.
    pub fn share_with(&mut self, earlier: &Listing) {
        let known: HashMap<&str, &Arc<Listed>> = earlier.tools.iter().map(|one| (&*one.name, one)).collect();
        for tool in &mut self.tools {
            if let Some(same) = known.get(&*tool.name).filter(|one| **one == tool) {
                *tool = Arc::clone(same);
            }
        }
    }

    /// The tools as the protocol writes them, with the members that the hub does not use.
    pub fn to_json(&self) -> String {
        Value::Array(self.tools.iter().map(|tool| tool.to_stored_json()).collect()).to_string()
    }

    /// Reads what [`Self::to_json`] wrote, as carefully as if it came from a server.
    pub fn from_json(text: &str, era: Era, ttl_ms: Option<u64>) -> Result<Listing, String> {
        let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut listing = Listing { ttl_ms, ..Listing::default() };
        for entry in entries.into_iter().take(MAX_TOOLS) {
            match read(entry, era) {
                Ok((tool, notices)) => {
                    listing.tools.push(Arc::new(tool));
                    listing.notices.extend(notices);
                }
                Err(reason) => listing.notices.push(reason),
            }
        }
        Ok(listing)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolEntry {
    name: String,
    #[serde(default)]
    title: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    output_schema: Value,
    #[serde(default)]
    annotations: Value,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Fetches all pages, within `limit` in all. `of_now`: a hub in between has its servers list theirs.
pub async fn fetch(connection: &Connection, limit: Duration, of_now: bool) -> Result<Listing> {
    let era = connection.server.era;
    let meta = of_now.then(|| (NOW_KEY.to_owned(), Value::Bool(true)));
    let list = PagedList {
        method: "tools/list",
        member: "tools",
        meta: Map::from_iter(meta),
        most: MAX_TOOLS,
        words: ["the list", "a second tool named"],
    };
    let read = |entry: &RawValue| {
        read(entry, era).map(|(tool, notices)| (tool.name.clone(), Arc::new(tool), notices))
    };
    let fetched = timeout(limit, pages::fetch(connection, list, read)).await.unwrap_or_else(|_| {
        let text = message!("no answer to tools/list within {} s", shown_seconds(limit.as_secs_f64()));
        Err(HubError::new(ErrorKind::Timeout, text))
    });
    let Fetched { entries: tools, notices, ttl_ms } = fetched?;
    Ok(Listing { tools, notices, ttl_ms, program_version: None })
}

/// A tool, and what was left out of it; or why it is none.
fn read(raw: &RawValue, era: Era) -> Result<(Listed, Vec<String>), String> {
    let entry: ToolEntry =
        serde_json::from_str(raw.get()).map_err(|error| format!("an entry that is not a tool: {error}"))?;
    let shown = clean(&entry.name, 60);
    if entry.name.trim().is_empty() || entry.name.chars().any(char::is_control) {
        return Err(format!("a tool whose name '{shown}' is empty or has control characters"));
    }
    if entry.name.chars().count() > MAX_NAME {
        return Err(format!("a tool whose name is longer than {MAX_NAME} characters: '{shown}'"));
    }
    let headers = match era {
        Era::Modern => mirrored(&entry.input_schema)
            .map_err(|reason| format!("the tool '{shown}', whose headers are invalid: {reason}"))?,
        Era::Legacy => Vec::new(),
    };
    let task_support = entry.other.get("execution").and_then(|execution| execution.get("taskSupport"));
    let notices = notices_about(&entry, &shown);
    let object = |value: Value| Some(value).filter(Value::is_object);
    let text = |value: &Value| value.as_str().map(|text| clean(text, MAX_DESCRIPTION));
    let tool = Listed {
        name: Arc::from(entry.name),
        description: text(&entry.description).unwrap_or_default(),
        title: text(&entry.title),
        // A schema that is none says nothing about the arguments; the server will.
        input_schema: Arc::new(object(entry.input_schema).unwrap_or_else(|| json!({"type": "object"}))),
        output_schema: object(entry.output_schema).map(Arc::new),
        annotations: match entry.annotations {
            Value::Object(map) => map,
            _ => Map::new(),
        },
        needs_task: task_support.and_then(Value::as_str) == Some("required"),
        headers,
        other: entry.other,
    };
    Ok((tool, notices))
}

/// What is odd about a tool that can be called all the same.
fn notices_about(entry: &ToolEntry, shown: &str) -> Vec<String> {
    let is_hidden = |text: &str| text.chars().any(|c| is_invisible(c) && !matches!(c, '\n' | '\r' | '\t'));
    let mut notices = Vec::new();
    if !entry.input_schema.is_object() {
        notices.push(format!("the inputSchema of '{shown}', which is missing or not an object"));
    }
    let texts = [&entry.title, &entry.description];
    if texts.iter().any(|text| text.as_str().is_some_and(is_hidden))
        || is_hidden(&entry.input_schema.to_string())
    {
        notices.push(format!(
            "invisible characters in the texts of '{shown}', which can hide instructions to a model"
        ));
    }
    notices
}
