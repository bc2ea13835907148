//! Reads a cassette, and says in which line it is wrong.

use super::line::{FORMAT, LineKind, RecordedAnswer, VERSION};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toolhub_registry::identity::CallKey;
use toolhub_text::secret::scrubbed;
use toolhub_types::error::{ErrorKind, HubError, Outcome, UpstreamError};
use toolhub_types::model::ToolOutput;

/// A call as it was recorded.
#[derive(Debug)]
pub struct Recording {
    pub kind: LineKind,
    pub name: String,
    pub candidate: String,
    /// By what it is found, without secrets.
    pub key: CallKey,
    /// What the tool was.
    pub definition: Option<Value>,
    /// Counts beginnings and ends.
    pub began: u64,
    /// The same for the candidates of one call; `None` for a model.
    pub call: Option<u64>,
    /// The beginning of the call whose tool made this one.
    pub inside: Option<u64>,
    /// In milliseconds from the beginning of the recording.
    pub at: f64,
    pub ms: f64,
    pub progress: Vec<Value>,
    pub answer: RecordedAnswer,
    /// Whether anything of it was sent when it was recorded.
    pub was_sent: bool,
    pub line: usize,
}

impl Recording {
    /// When it answered, in milliseconds from the beginning of the recording.
    pub fn answered_at(&self) -> f64 {
        self.at + self.ms
    }

    pub fn has_succeeded(&self) -> bool {
        matches!(self.answer, Some(Ok(_)))
    }

    pub fn took(&self) -> Duration {
        Duration::try_from_secs_f64(self.ms / 1e3).unwrap_or_default()
    }
}

/// The number of a line, and its fields.
pub type NumberedEvent = (usize, Map<String, Value>);

/// A server, and the tools that it listed.
pub(super) type ServerTools = (String, Value);

/// The events of a cassette with the numbers of their lines, after its first and last line were checked.
pub fn read_events(path: &Path) -> Result<Vec<NumberedEvent>, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("The cassette '{shown}' is a folder; give the path of a file."));
    }
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("There is no cassette '{shown}'; record it first."),
        _ => format!("The cassette '{shown}' cannot be read: {error}."),
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("The cassette '{shown}' is not UTF-8 text; record it again."))?;
    // Some editors put a mark before the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let wrong = |line: usize, why: String| format!("The cassette '{shown}' is wrong in line {line}: {why}.");
    let mut events = Vec::new();
    let last = text.lines().count();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let is_cut = at == last && !text.ends_with('\n');
        let event = serde_json::from_str::<Value>(line).map_err(|error| match is_cut {
            true => wrong(at, "it is cut off, so the recording was not finished; record it again".to_owned()),
            false => wrong(at, format!("it is not JSON ({})", without_place(&error))),
        })?;
        let Value::Object(event) = event else { return Err(wrong(at, "it is not a JSON object".to_owned())) };
        events.push((at, event));
    }
    check_header(events.first()).map_err(|why| wrong(1, why))?;
    events.remove(0);
    check_end(&mut events).map_err(|(line, why)| wrong(line, why))?;
    Ok(events)
}

/// The place is that in the line, which says nothing beside the number of the line.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn check_header(first: Option<&NumberedEvent>) -> Result<(), String> {
    let header = first
        .map(|(_, event)| event)
        .filter(|event| event.get("type").and_then(Value::as_str) == Some("header"));
    let header = header.ok_or("a cassette begins with a line of the type 'header', and this one does not")?;
    match header.get("v").and_then(Value::as_u64) {
        Some(version) if version > VERSION => {
            return Err(format!(
                "its format has version {version}, and this toolhub reads up to {VERSION}; install a newer one"
            ));
        }
        Some(VERSION) => {}
        Some(version) => {
            return Err(format!(
                "its format has version {version}, and this toolhub reads {VERSION}; record it again with `toolhub record -o \
                 FILE -- COMMAND`, or with `pytest --toolhub-record=all`"
            ));
        }
        _ => return Err(format!("'v' must be the version of the format, {VERSION}")),
    }
    match header.get("format").and_then(Value::as_str) {
        Some(FORMAT) => Ok(()),
        _ => Err(format!("'format' must be '{FORMAT}'")),
    }
}

/// The last line says how many events there are.
fn check_end(events: &mut Vec<NumberedEvent>) -> Result<(), (usize, String)> {
    let found = events.iter().position(|(_, event)| event.get("type").and_then(Value::as_str) == Some("end"));
    let Some(found) = found else {
        let line = events.last().map_or(1, |(line, _)| *line);
        return Err((line, "the line of the type 'end' is missing after it, so the recording was not finished; record it again".to_owned()));
    };
    if let Some((line, _)) = events.get(found + 1) {
        return Err((*line, "it comes after the line of the type 'end'".to_owned()));
    }
    let Some((line, end)) = events.pop() else { return Ok(()) };
    match end.get("events").and_then(Value::as_u64) {
        Some(count) if count == events.len() as u64 => Ok(()),
        Some(count) => {
            Err((line, format!("{count} events were recorded, and the file has {}", events.len())))
        }
        None => Err((line, "'events' must be a whole number".to_owned())),
    }
}

/// What replaying needs of a cassette: its calls, and the lists of servers.
pub(super) type ReadCassette = (Vec<Recording>, Vec<ServerTools>);

pub(super) fn read_cassette(path: &Path) -> Result<ReadCassette, String> {
    let mut read = ReadCassette::default();
    for (line, event) in read_events(path)? {
        let wrong = |why| format!("The cassette '{}' is wrong in line {line}: {why}.", path.display());
        LineFields(&event).add_to(&mut read, line).map_err(wrong)?;
    }
    Ok(read)
}

struct LineFields<'a>(&'a Map<String, Value>);

impl<'a> LineFields<'a> {
    fn add_to(&self, (calls, lists): &mut ReadCassette, line: usize) -> Result<(), String> {
        let version = self.whole("v")?;
        if version != VERSION {
            return Err(format!("'v' must be {VERSION}, not {version}"));
        }
        match self.text("type")? {
            "call" => calls.push(self.recording(LineKind::Call, line)?),
            "model" => calls.push(self.recording(LineKind::Model, line)?),
            "list" => lists.push((self.text("server")?.to_owned(), Value::Array(self.items("tools")?))),
            // What is not known says nothing about calls.
            _ => {}
        }
        Ok(())
    }

    fn field<T>(&self, key: &str, wanted: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, String> {
        self.0.get(key).and_then(read).ok_or_else(|| format!("'{key}' {wanted}"))
    }

    fn text(&self, key: &str) -> Result<&'a str, String> {
        self.field(key, "must be a text", Value::as_str)
    }

    fn whole(&self, key: &str) -> Result<u64, String> {
        self.field(key, "must be a whole number, 0 or more", Value::as_u64)
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        let read = |value: &Value| value.as_f64().filter(|number| *number >= 0.0);
        self.field(key, "must be a number, 0 or more", read)
    }

    fn items(&self, key: &str) -> Result<Vec<Value>, String> {
        self.field(key, "must be a list", |value| value.as_array().cloned())
    }

    fn object(&self, key: &str) -> Result<&'a Map<String, Value>, String> {
        self.field(key, "must be an object", Value::as_object)
    }

    /// What is a secret by the rules of today is taken out again: a call is found without its secrets.
    fn arguments(&self) -> Result<Value, String> {
        Ok(scrubbed(self.0.get("arguments").cloned().ok_or("'arguments' is missing")?))
    }

    fn key(&self, arguments: Value) -> Result<CallKey, String> {
        let key = self.object("key")?;
        let part = |name: &str, without: Value| key.get(name).cloned().unwrap_or(without);
        let mut parts = json!({
            "principal": self.text("principal")?,
            "target": key.get("target").and_then(Value::as_str).ok_or("'key.target' must be a text")?,
            "tool": key.get("tool").and_then(Value::as_str).ok_or("'key.tool' must be a text")?,
            "source": part("source", Value::Null),
            "server": part("server", Value::Null),
            "arguments": arguments,
            "meta": scrubbed(part("meta", json!({}))),
        });
        if let Some(passed_on) = key.get("passed_on") {
            parts["passed_on"] = scrubbed(passed_on.clone());
        }
        Ok(CallKey::from_parts(parts))
    }

    fn recording(&self, kind: LineKind, line: usize) -> Result<Recording, String> {
        let arguments = self.arguments()?;
        if kind == LineKind::Call && arguments.as_str().is_some_and(|text| text.starts_with("sha256:")) {
            return Err("it is of an audit log, which has no arguments and results to replay".to_owned());
        }
        let (name, candidate, key) = match kind {
            LineKind::Call => (self.text("tool")?, self.text("candidate")?, self.key(arguments)?),
            LineKind::Model => (self.text("model")?, "", model_key(self.text("model")?, arguments)),
        };
        let progress = if self.0.contains_key("progress") { self.items("progress")? } else { Vec::new() };
        let (began, ended) = (self.whole("began")?, self.whole("ended")?);
        if ended <= began {
            return Err("'ended' must be above 'began'".to_owned());
        }
        let answer = self.answer()?;
        let was_refused = matches!(&answer, Some(Err(error)) if error.outcome == Outcome::NotSent);
        Ok(Recording {
            kind,
            name: name.to_owned(),
            candidate: candidate.to_owned(),
            key,
            definition: self.0.get("definition").cloned(),
            began,
            call: self.0.get("call").and_then(Value::as_u64),
            inside: self.0.get("inside").and_then(Value::as_u64),
            at: self.number("at")?,
            ms: self.number("ms")?,
            progress,
            answer,
            was_sent: !was_refused && self.0.get("sent") != Some(&Value::Bool(false)),
            line,
        })
    }

    fn answer(&self) -> Result<RecordedAnswer, String> {
        match self.text("outcome")? {
            // It answered when the call was decided, so a replay must not let it win.
            "ok" if self.0.get("late") == Some(&Value::Bool(true)) => Ok(None),
            "ok" => {
                let result = self.object("result")?;
                let value = result.get("value").cloned().ok_or("'result' must have a 'value'")?;
                let part = |key: &str| result.get(key).cloned();
                let (content, structured, meta) = (part("content"), part("structured"), part("meta"));
                Ok(Some(Ok(ToolOutput { content, structured, meta, ..ToolOutput::new(value) })))
            }
            "stopped" => Ok(None),
            kind => {
                let known = ErrorKind::named(kind).ok_or_else(|| {
                    format!("'outcome' must be ok, stopped or a kind of error, not '{kind}'")
                })?;
                recorded_error(known, self.object("error")?).map(|error| Some(Err(error)))
            }
        }
    }
}

/// By what a question to a model is found; `request` is without secrets.
pub(super) fn model_key(model: &str, request: Value) -> CallKey {
    CallKey::from_parts(json!({"target": "model", "tool": model, "arguments": request}))
}

fn recorded_error(kind: ErrorKind, fields: &Map<String, Value>) -> Result<HubError, String> {
    let message = fields.get("message").and_then(Value::as_str).ok_or("'error.message' must be a text")?;
    let outcome = fields.get("outcome").and_then(Value::as_str).and_then(Outcome::parse);
    let outcome = outcome.ok_or("'error.outcome' must be not_sent, failed or unknown")?;
    let mut error = HubError::new(kind, message.to_owned()).with_outcome(outcome);
    error.nothing_happened = fields.get("nothing_happened") == Some(&Value::Bool(true));
    error.code = fields.get("code").and_then(Value::as_i64);
    error.status = fields.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    error.retry_after = fields.get("retry_after").and_then(Value::as_f64);
    let part = |key: &str| fields.get(key).cloned();
    let (content, structured, meta) = (part("content"), part("structured"), part("meta"));
    let sent = ToolOutput { content, structured, meta, ..ToolOutput::default() };
    error.answer = sent.content.is_some().then(|| Arc::new(sent));
    error.upstream = fields.get("upstream").and_then(Value::as_object).map(|sent| {
        let message = sent.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let data = sent.get("data").filter(|data| !data.is_null()).cloned();
        Arc::new(UpstreamError { message, data })
    });
    Ok(error)
}
