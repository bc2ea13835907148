//! Writes calls to a file.

use super::line::{
    FORMAT, LineKind, OuterCall, RecordedAnswer, VERSION, milliseconds, outcome_of, timestamp,
};
use crate::file::FileId;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use toolhub_registry::Candidate;
use toolhub_registry::identity::CallKey;
use toolhub_text::secret::{scrubbed, scrubbed_text};
use toolhub_types::error::HubError;
use toolhub_types::model::ToolOutput;
use toolhub_types::tool::OnProgress;

/// How many recordings this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Records calls until it is closed.
pub struct Recorder {
    path: PathBuf,
    file: FileId,
    /// Tells the recordings of a process apart.
    number: u64,
    /// Only this one writes: a fork has the file open too.
    process: u32,
    begun: Instant,
    /// Counts the beginnings and ends of calls, so that it is known which ones overlapped.
    moments: AtomicU64,
    sink: Mutex<CassetteSink>,
    /// The servers and tools whose definitions are written.
    listed: Mutex<HashSet<(String, String)>>,
    /// The list of each server that was written last: each approval asks for it again.
    lists: Mutex<HashMap<String, String>>,
}

struct CassetteSink {
    /// `None` when the recording has ended.
    /// Not buffered: a program that is killed leaves all lines that were written.
    file: Option<File>,
    lines: u64,
    /// The first failure to write.
    trouble: Option<String>,
}

impl Recorder {
    /// Begins a new cassette. A file that is there is replaced, unless something records to it.
    pub fn create(path: &Path) -> Result<Self, String> {
        let (shown, failed) = (path.display(), |error: std::io::Error| unwritable(path, &error));
        if path.is_dir() {
            return Err(format!("The cassette '{shown}' is a folder; give the path of a file."));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        // Held until the file is closed, against other processes too.
        // A file system may have no locks.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(format!(
                "Something else already records to '{shown}'; give each recording its own file."
            ));
        }
        file.set_len(0).map_err(failed)?;
        let sink = CassetteSink { file: Some(file), lines: 0, trouble: None };
        let recorder = Recorder {
            path: path.to_owned(),
            file: FileId::of(path),
            number: BEGUN.fetch_add(1, Ordering::Relaxed),
            process: std::process::id(),
            begun: Instant::now(),
            moments: AtomicU64::new(0),
            sink: Mutex::new(sink),
            listed: Mutex::default(),
            lists: Mutex::default(),
        };
        let time = timestamp(SystemTime::now());
        recorder.write(&json!({"v": VERSION, "type": "header", "format": FORMAT, "time": time, "toolhub": env!("CARGO_PKG_VERSION")}));
        Ok(recorder)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the recording; returns how many events it has. What ends later is not written.
    pub fn close(&self) -> Result<u64, String> {
        let events = self.sink.lock().lines.saturating_sub(1);
        self.write(
            &json!({"v": VERSION, "type": "end", "time": timestamp(SystemTime::now()), "events": events}),
        );
        let mut sink = self.sink.lock();
        if let Some(file) = sink.file.take() {
            // A fork that goes on would keep the lock.
            let _ = file.unlock();
            if FileId::of(&self.path) != self.file || !self.path.is_file() {
                let path = self.path.display();
                let gone = format!(
                    "The cassette '{path}' was removed or replaced while it was recorded; record it again."
                );
                sink.trouble.get_or_insert(gone);
            }
        }
        sink.trouble.take().map_or(Ok(events), Err)
    }

    /// A call that is about to run.
    pub(super) fn open(self: &Arc<Self>, key: Arc<CallKey>) -> OpenCall {
        OpenCall { recorder: self.clone(), key, number: self.moment() }
    }

    /// A question to a model.
    pub(super) fn ask(
        self: &Arc<Self>,
        model: &str,
        request: Value,
        inside: Option<&OuterCall>,
    ) -> OpenRecording {
        self.open_recording(model, scrubbed(request), inside)
    }

    fn open_recording(
        self: &Arc<Self>,
        name: &str,
        arguments: Value,
        inside: Option<&OuterCall>,
    ) -> OpenRecording {
        OpenRecording {
            recorder: self.clone(),
            name: name.to_owned(),
            arguments,
            tool: None,
            // A task of its tool may live on into a later recording.
            inside: inside.filter(|outer| outer.recording == self.number).map(|outer| outer.began),
            is_late: false,
            was_sent: true,
            began: self.moment(),
            at: Instant::now(),
            time: SystemTime::now(),
            progress: Arc::default(),
            is_over: false,
        }
    }

    pub(super) fn list(&self, server: &str, tools: &str) {
        let before = self.lists.lock().insert(server.to_owned(), tools.to_owned());
        if before.as_deref() == Some(tools) {
            return;
        }
        let tools = scrubbed(serde_json::from_str(tools).unwrap_or_default());
        let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str());
        self.listed.lock().extend(names.map(|name| (server.to_owned(), name.to_owned())));
        self.event("list", json!({"server": server, "tools": tools}));
    }

    /// Writes the definition of a server's tool, if the server listed its tools before the recording began.
    fn define(&self, candidate: &Candidate) {
        let (Some(server), spec) = (candidate.server.as_deref(), candidate.spec()) else { return };
        if self.listed.lock().insert((server.to_owned(), spec.name.to_string())) {
            let mut tool = candidate.tool.definition_extras();
            let mut put = |name: &str, value: Value| drop(tool.insert(name.to_owned(), value));
            put("name", (*spec.name).into());
            put("description", (*spec.description).into());
            put("inputSchema", (*spec.parameters).clone());
            put("annotations", json!(spec.annotations));
            self.event("list", json!({"server": server, "tools": scrubbed(json!([tool]))}));
        }
    }

    pub(super) fn question(&self, server: &str, method: &str, params: &Value, answer: &Value) {
        let (arguments, result) = (scrubbed(params.clone()), scrubbed(answer.clone()));
        let fields = json!({"server": server, "method": method, "arguments": arguments, "result": result});
        self.event("question", fields);
    }

    /// The next place in the order of all beginnings and ends.
    pub(super) fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes what is not a call.
    fn event(&self, kind: &str, fields: Value) {
        self.line(kind, fields, (SystemTime::now(), Duration::ZERO), ("", "ok"));
    }

    /// Writes these fields in the envelope that all events have.
    fn line(
        &self,
        kind: &str,
        fields: Value,
        (began, took): (SystemTime, Duration),
        (principal, outcome): (&str, &str),
    ) {
        let envelope = json!({
            "time": timestamp(began), "principal": principal, "view": "", "outcome": outcome,
            "ms": milliseconds(took),
        });
        let parts = [json!({"v": VERSION, "type": kind}), fields, envelope];
        self.write(&Value::Object(parts.into_iter().flat_map(members).collect()));
    }

    fn ended(&self, open_recording: &mut OpenRecording, answer: &RecordedAnswer, took: Duration) {
        let answered = answer.as_ref().map(Result::as_ref);
        let tool = open_recording.tool.take().map(|tool| *tool);
        let kind = if tool.is_some() { LineKind::Call } else { LineKind::Model };
        let model = tool.is_none().then_some(&open_recording.name);
        let progress: Vec<Value> = open_recording.progress.lock().drain(..).map(scrubbed).collect();
        let mut fields = json!({
            "tool": tool.as_ref().map(|_| &open_recording.name),
            "candidate": tool.as_ref().map(|tool| &tool.candidate),
            "model": model,
            "arguments": open_recording.arguments.take(),
            "key": tool.as_ref().map(|tool| &tool.key),
            "definition": tool.as_ref().map(|tool| &tool.definition),
            "began": open_recording.began,
            "ended": self.moment(),
            "at": milliseconds(open_recording.at.saturating_duration_since(self.begun)),
            "call": tool.as_ref().map(|tool| tool.call),
            "inside": open_recording.inside,
            "late": open_recording.is_late.then_some(true),
            "sent": (answer.is_none() && !open_recording.was_sent).then_some(false),
            "progress": (!progress.is_empty()).then_some(progress),
            "result": answered.and_then(Result::ok).map(output_fields),
            "error": answered.and_then(Result::err).map(error_fields),
        });
        if let Value::Object(fields) = &mut fields {
            fields.retain(|name, value| name == "arguments" || !value.is_null());
        }
        let principal = tool.as_ref().map_or("", |tool| &tool.principal);
        self.line(kind.name(), fields, (open_recording.time, took), (principal, outcome_of(answer)));
    }

    /// A failure ends no call: it is told when the recording ends.
    fn write(&self, line: &Value) {
        // Before the lock, which may have been held when a fork was made.
        if self.process != std::process::id() {
            return;
        }
        let text = format!("{line}\n");
        let mut sink = self.sink.lock();
        let Some(file) = sink.file.as_mut() else { return };
        let written = file.write_all(text.as_bytes());
        sink.lines += 1;
        if let Err(error) = written {
            sink.trouble.get_or_insert_with(|| unwritable(&self.path, &error));
        }
    }
}

/// Ends a cassette whose program was killed: what it has recorded so far can be replayed. Returns how many events that are;
/// `None` if the recording has ended by itself, or has not begun.
pub fn finish_cut(path: &Path) -> Result<Option<u64>, String> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let text = std::fs::read(path).map_err(failed)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines: Vec<&[u8]> =
        text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let kind =
        |line: &[u8]| serde_json::from_slice::<Value>(line).ok()?.get("type")?.as_str().map(str::to_owned);
    let is_open = lines.first().and_then(|line| kind(line)).as_deref() == Some("header")
        && lines.last().and_then(|line| kind(line)).as_deref() != Some("end");
    if !is_open {
        return Ok(None);
    }
    let events = lines.len() as u64 - 1;
    let end = json!({"v": VERSION, "type": "end", "time": timestamp(SystemTime::now()), "events": events, "cut": true});
    let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    file.set_len(whole as u64).map_err(failed)?;
    file.write_all(format!("{end}\n").as_bytes()).map_err(failed)?;
    Ok(Some(events))
}

/// Of an object.
fn members(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}

fn output_fields(output: &ToolOutput) -> Value {
    let mut fields = json!({"value": scrubbed(output.value.clone())});
    let parts = [("content", &output.content), ("structured", &output.structured), ("meta", &output.meta)];
    for (name, part) in parts.into_iter().filter_map(|(name, part)| Some((name, part.clone()?))) {
        fields[name] = scrubbed(part);
    }
    fields
}

fn error_fields(error: &HubError) -> Value {
    let mut fields = json!({
        "kind": error.kind.name(), "message": scrubbed_text(&error.message), "outcome": error.outcome.name(),
    });
    if let Some(map) = fields.as_object_mut() {
        let mut put =
            |key: &str, value: Option<Value>| drop(value.map(|value| map.insert(key.to_owned(), value)));
        put("nothing_happened", error.nothing_happened.then_some(Value::Bool(true)));
        put("code", error.code.map(Value::from));
        put("status", error.status.map(Value::from));
        put("retry_after", error.retry_after.map(Value::from));
        if let Some(sent) = &error.answer {
            put("content", sent.content.clone().map(scrubbed));
            put("structured", sent.structured.clone().map(scrubbed));
            put("meta", sent.meta.clone().map(scrubbed));
        }
        if let Some(sent) = &error.upstream {
            let (message, data) = (scrubbed_text(&sent.message), sent.data.clone().map(scrubbed));
            put("upstream", Some(json!({"message": message, "data": data})));
        }
    }
    fields
}

/// A call whose candidates are recorded.
pub struct OpenCall {
    recorder: Arc<Recorder>,
    key: Arc<CallKey>,
    number: u64,
}

impl OpenCall {
    /// A candidate is called, perhaps by the tool of another recorded call.
    pub fn attempt(&self, candidate: &Candidate, inside: Option<&OuterCall>) -> OpenRecording {
        self.recorder.define(candidate);
        let mut parts = members(scrubbed(Value::Object(self.key.parts().clone())));
        let arguments = parts.remove("arguments").unwrap_or_default();
        let principal = parts.remove("principal").unwrap_or_default();
        parts.retain(|_, part| !part.is_null() && part.as_object().is_none_or(|part| !part.is_empty()));
        let tool = RecordedTool {
            candidate: candidate.label(),
            key: parts,
            principal: principal.as_str().unwrap_or_default().to_owned(),
            definition: candidate.definition().members().clone(),
            call: self.number,
        };
        let mut open_recording = self.recorder.open_recording(&candidate.spec().name, arguments, inside);
        open_recording.tool = Some(Box::new(tool));
        open_recording
    }
}

/// What a line of a tool has, and that of a model has not.
struct RecordedTool {
    candidate: String,
    /// The parts of the key that have no field of their own.
    key: Map<String, Value>,
    principal: String,
    definition: Value,
    call: u64,
}

/// A call that is being recorded.
pub struct OpenRecording {
    recorder: Arc<Recorder>,
    /// Of the tool or the model.
    name: String,
    arguments: Value,
    tool: Option<Box<RecordedTool>>,
    inside: Option<u64>,
    is_late: bool,
    was_sent: bool,
    began: u64,
    at: Instant,
    time: SystemTime,
    progress: Arc<Mutex<Vec<Value>>>,
    is_over: bool,
}

impl OpenRecording {
    /// What the calls that its tool makes are told of it.
    pub fn as_outer(&self) -> OuterCall {
        OuterCall { recording: self.recorder.number, began: self.began }
    }

    /// Hears how far the tool is, until the line is written. A tool may keep it for longer.
    pub fn listener(&self) -> OnProgress {
        let progress = Arc::downgrade(&self.progress);
        Arc::new(move |update| {
            let Some(progress) = progress.upgrade() else { return };
            progress.lock().push(update.clone());
        })
    }

    /// Writes the line.
    pub fn end(self, answer: &RecordedAnswer) {
        self.end_at(answer, true, Instant::now());
    }

    /// Writes the line of a call that ended some time ago.
    pub fn end_at(mut self, answer: &RecordedAnswer, was_sent: bool, ended: Instant) {
        self.was_sent = was_sent;
        self.put(answer, ended);
    }

    /// Writes the line of one that answered after the call was decided: its answer did not count.
    pub fn end_late(mut self, output: ToolOutput) {
        self.is_late = true;
        self.end(&Some(Ok(output)));
    }

    fn put(&mut self, answer: &RecordedAnswer, ended: Instant) {
        self.is_over = true;
        let took = ended.saturating_duration_since(self.at);
        self.recorder.clone().ended(self, answer, took);
    }
}

impl Drop for OpenRecording {
    fn drop(&mut self) {
        if !self.is_over {
            self.put(&None, Instant::now());
        }
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("The cassette '{}' cannot be written: {error}.", path.display())
}
