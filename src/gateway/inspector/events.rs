//! A file of events, as far as the page needs them.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;
use toolhub_store::cassette::{VERSION, read_timestamp};
use toolhub_text::{Message, message};

/// The outcome of a span that has not ended.
pub const RUNNING: &str = "running";

/// A run that was recorded, or an audit log.
#[derive(Debug, Default)]
pub struct RunFile {
    /// The name of the file.
    pub name: String,
    /// When it began, in milliseconds since 1970.
    pub begun: f64,
    pub spans: Vec<SpanEvent>,
    /// The lines of the spans.
    pub lines: Vec<String>,
    /// What was left out, and why.
    pub notices: Vec<String>,
}

/// Something that took some time.
#[derive(Clone, Debug)]
pub struct SpanEvent {
    /// The type of its line.
    pub kind: String,
    /// The tool, the model, the method of a question.
    pub name: String,
    /// The candidate, or what else it belongs to.
    pub lane: String,
    /// In milliseconds from the beginning.
    pub at: f64,
    pub ms: f64,
    pub outcome: String,
    /// Candidates of one call have the same number.
    pub call: Option<u64>,
    /// It answered when the call was decided.
    pub is_late: bool,
    pub principal: String,
}

/// The fields of a line that are used; others are ignored.
#[derive(Deserialize)]
pub struct LineView<'a> {
    v: Option<u64>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    time: Cow<'a, str>,
    tool: Option<String>,
    candidate: Option<String>,
    model: Option<String>,
    server: Option<String>,
    method: Option<String>,
    prompt: Option<String>,
    uri: Option<String>,
    approval: Option<String>,
    decision: Option<String>,
    status: Option<u64>,
    count: Option<u64>,
    at: Option<f64>,
    #[serde(default)]
    ms: f64,
    #[serde(default)]
    outcome: String,
    call: Option<u64>,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    principal: String,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

impl RunFile {
    pub fn read(path: &Path) -> Result<Self, Message> {
        let shown = path.display();
        if path.is_dir() {
            return Err(message!("'{}' is a folder; give a cassette or an audit log.", shown));
        }
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                message!("There is no file '{}'; give a cassette or an audit log.", shown)
            }
            ErrorKind::InvalidData => {
                message!("'{}' is not UTF-8 text; give a cassette or an audit log.", shown)
            }
            _ => format!("'{shown}' cannot be read: {error}.").into(),
        })?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self::of(name, &text)
            .map_err(|(line, why)| message!("'{}' cannot be shown: line {} is wrong, {}.", shown, line, why))
    }

    /// The error is the number of a line, and what is wrong with it.
    pub fn of(name: String, text: &str) -> Result<Self, (usize, Message)> {
        let mut file = RunFile { name, begun: f64::NAN, ..RunFile::default() };
        let (last, is_whole) = (text.lines().count(), text.is_empty() || text.ends_with('\n'));
        let mut times = Vec::new();
        for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str::<LineView<'_>>(line) {
                Ok(view) => file.take(&view, line, &mut times).map_err(|why| (number, why))?,
                // What writes the file may be at it.
                Err(_) if number == last && !is_whole => {
                    file.notices.push("The last line is cut off and was left out.".to_owned());
                }
                Err(error) => {
                    let error = error.to_string();
                    let why = error.split(" at line ").next().unwrap_or_default();
                    return Err((number, message!("it is not an event: {}", why)));
                }
            }
        }
        file.place(&times);
        Ok(file)
    }

    fn take(&mut self, line: &LineView<'_>, text: &str, times: &mut Vec<f64>) -> Result<(), Message> {
        match line.v {
            Some(..=VERSION) => {}
            Some(other) => {
                return Err(message!(
                    "its format has version {}, and this toolhub reads up to {}; install a newer one",
                    other,
                    VERSION
                ));
            }
            None => return Err(message!("it is not an event: {}", "`v` is missing")),
        }
        let time = read_timestamp(&line.time);
        if line.kind == "header"
            && let Some(time) = time
        {
            self.begun = time;
        }
        let Some((name, lane)) = line.name_and_lane() else { return Ok(()) };
        let time = time.ok_or_else(|| message!("`time` is not a valid time: '{}'", line.time))?;
        let is_sound = |number: f64| number.is_finite() && number >= 0.0;
        if !is_sound(line.ms) || !line.at.is_none_or(is_sound) {
            return Err(message!("`ms` and `at` must be numbers, 0 or more"));
        }
        self.spans.push(SpanEvent {
            kind: line.kind.to_string(),
            name,
            lane,
            at: line.at.unwrap_or(f64::NAN),
            ms: line.ms,
            outcome: line.outcome.clone(),
            call: line.call,
            is_late: line.late,
            principal: line.principal.clone(),
        });
        self.lines.push(text.trim().to_owned());
        times.push(time);
        Ok(())
    }

    /// Lines without `at` are placed by their time.
    fn place(&mut self, times: &[f64]) {
        if self.begun.is_nan() {
            self.begun = times.iter().copied().fold(f64::INFINITY, f64::min);
        }
        if !self.begun.is_finite() {
            self.begun = 0.0;
        }
        for (span, time) in self.spans.iter_mut().zip(times) {
            if span.at.is_nan() {
                span.at = (time - self.begun).max(0.0);
            }
        }
    }
}

impl LineView<'_> {
    /// `None` for a line that is not a span.
    fn name_and_lane(&self) -> Option<(String, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let of_server = || format!("mcps:{}", self.server.as_deref().unwrap_or_default());
        let gateway = || "gateway".to_owned();
        Some(match &*self.kind {
            "call" => {
                let lane = self.candidate.clone().filter(|candidate| !candidate.is_empty());
                (text(&self.tool), lane.unwrap_or_else(|| "no candidate".to_owned()))
            }
            "model" => (text(&self.model), "model".to_owned()),
            "question" => (text(&self.method), of_server()),
            "list" => ("tools/list".to_owned(), of_server()),
            "search" => ("search_tools".to_owned(), gateway()),
            "describe" => (format!("describe {}", text(&self.tool)), gateway()),
            "resource" => (text(&self.uri), gateway()),
            "prompt" => (text(&self.prompt), gateway()),
            "approval" => (format!("{} {}", text(&self.decision), text(&self.approval)), gateway()),
            "refusal" => {
                let (status, count) = (self.status.unwrap_or_default(), self.count.unwrap_or(1));
                (format!("{status} × {count}"), "refused".to_owned())
            }
            _ => return None,
        })
    }
}
