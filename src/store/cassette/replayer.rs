//! Answers calls from a cassette: by their key, in the recorded order of start among calls of that key.

use super::line::LineKind;
use super::reading::{Recording, model_key, read_cassette};
use parking_lot::Mutex;
use serde_json::Value;
use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallIdentity, CallKey};
use toolhub_text::canonical::{count_differences, first_difference};
use toolhub_text::secret::scrubbed;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{Arguments, CheckOptions, Fitting, ToolOutput, ToolSpec};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// More differences than this count as this many.
const MOST_DIFFERENCES: usize = 20;

toolhub_types::named! {
    /// How calls are matched with recordings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReplayMode {
        /// Each recorded call once.
        Strict = "strict",
        /// As often as wanted: when the recordings of a call are used up, the last one answers again.
        Lenient = "lenient",
        /// As strict, and each answer takes as long as it took.
        Timed = "timed",
    }
}

/// What a replay came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplayEnd {
    /// A sentence for each call that no recording fitted.
    pub missed: Vec<String>,
    /// A sentence for each recording that no call used; none in lenient mode.
    pub unused: Vec<String>,
    /// A sentence for each tool that was answered although it is defined otherwise now.
    pub notices: Vec<String>,
}

/// What answers a call: a recording for each candidate that counted, in the order of their answers.
pub struct ReplayedCall {
    pub recordings: Vec<Arc<Recording>>,
    /// Answers take as long as they took.
    pub is_timed: bool,
}

/// A recorded call: what each of its candidates came to, in the order of their start.
struct RecordedCall {
    attempts: Vec<Arc<Recording>>,
    is_used: bool,
}

impl RecordedCall {
    fn first(&self) -> &Recording {
        // A group is made of the recording that is put into it.
        &self.attempts[0]
    }

    /// The recordings that answer, in the order in which they did. What another candidate beat did not count, so it is not
    /// called.
    fn answers(&self) -> Vec<Arc<Recording>> {
        let is_decided = self.attempts.iter().any(|one| one.has_succeeded());
        let counted = self.attempts.iter().filter(|one| !is_decided || one.answer.is_some());
        let mut counted: Vec<_> = counted.cloned().collect();
        counted.sort_by(|one, other| one.answered_at().total_cmp(&other.answered_at()));
        counted
    }
}

pub struct Replayer {
    path: PathBuf,
    mode: ReplayMode,
    calls: Mutex<RecordedCalls>,
    lists: HashMap<String, String>,
    missed: Mutex<Vec<String>>,
    notices: Mutex<BTreeSet<String>>,
}

/// In the order of their start.
struct RecordedCalls {
    calls: Vec<RecordedCall>,
    by_key: HashMap<Arc<str>, Vec<usize>>,
    /// The calls that the tool of an attempt made, by the number of its beginning.
    inside: HashMap<u64, Vec<usize>>,
}

impl RecordedCalls {
    fn new(mut recordings: Vec<Recording>) -> Self {
        recordings.sort_by_key(|one| one.began);
        let mut calls: Vec<RecordedCall> = Vec::new();
        let (mut by_number, mut inside) = (HashMap::<u64, usize>::new(), HashMap::<u64, Vec<usize>>::new());
        let mut by_key: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for recording in recordings.into_iter().map(Arc::new) {
            if let Some(at) = recording.call.and_then(|number| by_number.get(&number)) {
                calls[*at].attempts.push(recording);
                continue;
            }
            let at = calls.len();
            by_key.entry(recording.key.digest().clone()).or_default().push(at);
            if let Some(number) = recording.call {
                by_number.insert(number, at);
            }
            if let Some(outer) = recording.inside {
                inside.entry(outer).or_default().push(at);
            }
            calls.push(RecordedCall { attempts: vec![recording], is_used: false });
        }
        RecordedCalls { calls, by_key, inside }
    }

    /// The next call of this key. Those that a tool made come last: if it does not run, they are not made.
    fn take(&mut self, key: &str, mode: ReplayMode) -> Option<&RecordedCall> {
        let places = self.by_key.get(key)?;
        let open = |at: &&usize| !self.calls[**at].is_used;
        let outermost = |at: &&usize| self.calls[**at].first().inside.is_none();
        let found = places.iter().filter(open).find(outermost).or_else(|| places.iter().find(open));
        let again = || places.last().filter(|_| mode == ReplayMode::Lenient);
        let at = *found.or_else(again)?;
        self.use_up(at);
        self.calls.get(at)
    }

    /// The call is answered, so those that its tools made are not made.
    fn use_up(&mut self, at: usize) {
        if std::mem::replace(&mut self.calls[at].is_used, true) {
            return;
        }
        let began: Vec<u64> = self.calls[at].attempts.iter().map(|one| one.began).collect();
        for began in began {
            let nested = self.inside.remove(&began).unwrap_or_default();
            nested.into_iter().for_each(|at| self.use_up(at));
        }
    }

    /// Why no recording answers a call.
    fn why_not(&self, key: &CallKey) -> Message {
        if let Some(places) = self.by_key.get(key.digest()) {
            return message!("all {} recorded calls of it were replayed already", places.len());
        }
        let name = key.parts().get("tool");
        let same_tool = || self.calls.iter().filter(|call| call.first().key.parts().get("tool") == name);
        let left = same_tool().filter(|call| !call.is_used).map(RecordedCall::first);
        let distance = |one: &&Recording| -> usize {
            let of = |(name, part): (&String, &Value)| {
                count_differences(one.key.parts().get(name).unwrap_or(&Value::Null), part, MOST_DIFFERENCES)
            };
            key.parts().iter().map(of).sum()
        };
        let Some(nearest) = left.min_by_key(distance) else {
            return match same_tool().count() {
                0 => "no call of it was recorded".into(),
                all => message!("all {} recorded calls of it were replayed already", all),
            };
        };
        let difference = key.parts().iter().find_map(|(name, part)| {
            let recorded = nearest.key.parts().get(name).unwrap_or(&Value::Null);
            first_difference(if name == "arguments" { "args" } else { name }, recorded, part)
        });
        message!(
            "the nearest recording is in line {}: {}",
            nearest.line,
            difference.unwrap_or_else(|| String::new().into())
        )
    }
}

impl Replayer {
    pub fn open(path: &Path, mode: ReplayMode) -> Result<Self, String> {
        let (calls, lists) = read_cassette(path)?;
        Ok(Replayer {
            path: path.to_owned(),
            mode,
            calls: Mutex::new(RecordedCalls::new(calls)),
            lists: joined(lists),
            missed: Mutex::default(),
            notices: Mutex::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn call(&self, identity: &CallIdentity) -> Result<ReplayedCall> {
        let parts = scrubbed(Value::Object(identity.key.parts().clone()));
        let replayed = self.take(LineKind::Call, &CallKey::from_parts(parts))?;
        for recording in &replayed.recordings {
            let recorded = recording.definition.as_ref();
            if let Some(change) = recorded.and_then(|recorded| identity.definition.change_of(recorded)) {
                self.notices.lock().insert(format!(
                    "'{}' ({}) was answered from '{}', though its definition has changed: {change}.",
                    clip(&recording.name),
                    recording.candidate,
                    self.path.display()
                ));
            }
        }
        Ok(replayed)
    }

    pub(super) fn ask(&self, model: &str, request: Value) -> Result<ReplayedCall> {
        let replayed = self.take(LineKind::Model, &model_key(model, scrubbed(request)));
        replayed.inspect_err(|miss| self.missed(miss))
    }

    pub(super) fn missed(&self, miss: &HubError) {
        self.missed.lock().push(miss.message.to_string());
    }

    fn take(&self, kind: LineKind, key: &CallKey) -> Result<ReplayedCall> {
        let mut calls = self.calls.lock();
        if let Some(call) = calls.take(key.digest(), self.mode) {
            let is_timed = self.mode == ReplayMode::Timed;
            return Ok(ReplayedCall { recordings: call.answers(), is_timed });
        }
        let why = calls.why_not(key);
        drop(calls);
        let name = key.parts().get("tool").and_then(Value::as_str).unwrap_or_default();
        let what = match kind {
            LineKind::Call => format!("'{}'", clip(name)),
            LineKind::Model => format!("the model '{}'", clip(name)),
        };
        let text =
            message!("The call of {} is not in the cassette '{}': {}.", what, self.path.display(), why);
        Err(HubError::new(ErrorKind::NotFound, text).with_outcome(Outcome::NotSent))
    }

    pub(super) fn list(&self, server: &str) -> Result<String> {
        self.lists.get(server).cloned().ok_or_else(|| {
            let text = message!(
                "The tools of server '{}' are not in the cassette '{}', and a replay starts no server.",
                clip(server),
                self.path.display()
            );
            HubError::new(ErrorKind::Connect, text).with_outcome(Outcome::NotSent)
        })
    }

    /// What was missed so far, what was not used, and what is defined otherwise now.
    pub fn end(&self) -> ReplayEnd {
        let calls = self.calls.lock();
        let left = calls.calls.iter().filter(|call| !call.is_used && self.mode != ReplayMode::Lenient);
        let attempts = left.flat_map(|call| &call.attempts).filter(|one| one.inside.is_none());
        let mut unused: Vec<_> = attempts.map(|one| (one.line, shown(one))).collect();
        unused.sort();
        let sentence = |(line, what)| {
            format!("The call of {what} in line {line} of '{}' was not made.", self.path.display())
        };
        ReplayEnd {
            missed: self.missed.lock().clone(),
            unused: unused.into_iter().map(sentence).collect(),
            notices: self.notices.lock().iter().cloned().collect(),
        }
    }
}

/// Of the lists of one server the last one counts, with tools of earlier ones that it does not have.
fn joined(lists: Vec<(String, Value)>) -> HashMap<String, String> {
    let mut tools: HashMap<String, Vec<Value>> = HashMap::new();
    for (server, list) in lists.into_iter().rev() {
        let known = tools.entry(server).or_default();
        for tool in list.as_array().into_iter().flatten() {
            if known.iter().all(|one| one.get("name") != tool.get("name")) {
                known.push(tool.clone());
            }
        }
    }
    tools.into_iter().map(|(server, tools)| (server, Value::Array(tools).to_string())).collect()
}

fn shown(recording: &Recording) -> String {
    match recording.kind {
        LineKind::Call => format!("'{}' ({})", clip(&recording.name), recording.candidate),
        LineKind::Model => format!("the model '{}'", clip(&recording.name)),
    }
}

/// Answers as the tool did when it was recorded. Any arguments fit: the call was found by its key.
pub struct ReplayTool {
    tool: Arc<dyn Tool>,
    recording: Arc<Recording>,
    is_timed: bool,
}

impl ReplayTool {
    /// A candidate that is answered by a recording. It has statistics of its own, so nothing is learnt from it.
    pub fn candidate(of: &Candidate, recording: Arc<Recording>, is_timed: bool) -> Arc<Candidate> {
        let tool = ReplayTool { tool: of.tool.clone(), recording, is_timed };
        Arc::new(Candidate { tool: Arc::new(tool), ..of.apart() })
    }
}

/// The recording that answers for a candidate, in a replay.
pub fn recording_of(candidate: &Candidate) -> Option<&Recording> {
    let tool: &dyn Any = &*candidate.tool;
    tool.downcast_ref::<ReplayTool>().map(|tool| &*tool.recording)
}

impl Tool for ReplayTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, _: &Arguments, _: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        Ok(Fitting::unchanged())
    }

    fn marks_sent(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, _: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(async move {
            if self.recording.was_sent {
                ctx.sent.begin();
            }
            if let Some(told) = &ctx.extras.progress {
                self.recording.progress.iter().for_each(|update| told(update));
            }
            let answered = async {
                if self.is_timed {
                    tokio::time::sleep(self.recording.took()).await;
                }
                match self.recording.answer.clone() {
                    Some(answer) => answer,
                    // Its caller goes, as when it was recorded.
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                answer = answered => answer,
                () = ctx.cancel.cancelled() => {
                    let text = format!("Tool '{}' was cancelled.", clip(&self.spec().name));
                    Err(HubError::new(ErrorKind::Cancelled, text))
                }
            }
        })
    }
}
