//! Answers calls from a cassette.

use super::chance::Chance;
use super::lanes::{Lane, is_sequential};
use super::line::{CallOnTape, LineKind};
use super::nested::{LaneKey, Lanes, NestedCalls, lanes};
use super::reading::{Recording, read_cassette};
use super::sharing::{Sharing, SharingLanes};
use crate::canonical::digest;
use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::secret::scrubbed;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How calls are matched with recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// Each recorded call once; equal ones in their order, and all of a tool if they were made one after another.
    Strict,
    /// In any order, and as often as wanted.
    Lenient,
    /// As strict, and each answer takes as long as it took.
    Timed,
}

impl ReplayMode {
    pub const ALL: [(&'static str, ReplayMode); 3] =
        [("strict", ReplayMode::Strict), ("lenient", ReplayMode::Lenient), ("timed", ReplayMode::Timed)];
}

/// What a replay came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplayEnd {
    /// A sentence for each call that no recording fitted.
    pub missed: Vec<String>,
    /// A sentence for each recording that no call used; none in lenient mode.
    pub unused: Vec<String>,
}

/// The recordings that wait for their calls.
struct ReplayedCalls {
    lanes: Lanes,
    nested: NestedCalls,
}

pub struct Replayer {
    path: PathBuf,
    mode: ReplayMode,
    chance: Option<Chance>,
    calls: Mutex<ReplayedCalls>,
    /// The recordings of calls that had several candidates.
    executions: HashMap<u64, Vec<Arc<Recording>>>,
    shared: Mutex<SharingLanes>,
    lists: HashMap<String, String>,
    missed: Mutex<Vec<String>>,
}

impl Replayer {
    pub fn open(path: &Path, mode: ReplayMode) -> Result<Self, String> {
        let mut read = read_cassette(path)?;
        mark_beaten(&mut read.calls);
        let mut calls: Vec<Arc<Recording>> = read.calls.into_iter().map(Arc::new).collect();
        let executions = with_several(&calls);
        let nested = NestedCalls::split_off(&mut calls);
        let is_ordered = is_sequential(&calls);
        Ok(Replayer {
            path: path.to_owned(),
            mode,
            chance: Chance::of(path),
            calls: Mutex::new(ReplayedCalls { lanes: lanes(calls, is_ordered), nested }),
            executions,
            shared: Mutex::new(SharingLanes::new(read.shared)),
            lists: joined(read.lists),
            missed: Mutex::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn mode(&self) -> ReplayMode {
        self.mode
    }

    pub(super) fn chance(&self) -> Option<&Chance> {
        self.chance.as_ref()
    }

    /// Whether a recording waits for a call with these arguments.
    pub(super) fn has(&self, name: &str, candidate: &str, arguments: &Value) -> bool {
        let digest = digest(&scrubbed(arguments.clone()));
        let key = (LineKind::Call, name.to_owned(), candidate.to_owned());
        let is_repeated = self.mode == ReplayMode::Lenient;
        self.calls.lock().lanes.get(&key).is_some_and(|lane| lane.has(&digest, is_repeated))
    }

    pub(super) fn take(&self, call: CallOnTape<'_>, hub: Option<i64>) -> Result<Arc<Recording>, HubError> {
        let arguments = scrubbed(call.arguments);
        let digest = digest(&arguments);
        let key = (call.kind, call.name.to_owned(), call.candidate.to_owned());
        let mut calls = self.calls.lock();
        let ReplayedCalls { lanes, nested } = &mut *calls;
        let next = |lane: &mut Lane| match self.mode {
            ReplayMode::Lenient => lane.any(&digest, hub),
            ReplayMode::Strict | ReplayMode::Timed => lane.next(&digest, hub),
        };
        let lane = lanes.get_mut(&key);
        let found = lane.and_then(next).or_else(|| nested.lanes_of(&key).find_map(next));
        if let Some(recording) = found {
            if self.mode != ReplayMode::Lenient {
                nested.replayed(&recording);
            }
            return Ok(recording);
        }
        let why = match lanes.get(&key) {
            None => "no call of it was recorded".to_owned(),
            Some(lane) => lane.why_not(&arguments, &digest),
        };
        drop(calls);
        let text =
            format!("The call of {} is not in the cassette '{}': {why}.", shown(&key), self.path.display());
        self.missed.lock().push(text.clone());
        Err(HubError::new(ErrorKind::NotFound, text).with_outcome(Outcome::NotSent))
    }

    /// Whether another candidate of the same call answered earlier, and has not in this replay.
    pub(super) fn is_early(&self, recording: &Recording) -> bool {
        let others = recording.execution.and_then(|execution| self.executions.get(&execution));
        others.into_iter().flatten().any(|other| {
            other.answered_at() < recording.answered_at() && !other.was_stopped() && !other.is_answered()
        })
    }

    /// What the next call with these arguments shared; `None` if it was not recorded.
    pub(super) fn shared(&self, what: &str, digest: &[u8; 32], hub: Option<i64>) -> Option<Sharing> {
        // As often as wanted means that nothing is counted.
        let is_counted = self.mode != ReplayMode::Lenient;
        is_counted.then(|| self.shared.lock().next(what, digest, hub)).flatten()
    }

    /// The error of a call that has to wait for ever: the candidate that answered in its place is not called.
    pub(super) fn unanswered(&self, recording: &Recording) -> HubError {
        let key = (recording.kind, recording.name.clone(), recording.candidate.clone());
        let text = format!(
            "The call of {} in line {} of '{}' was given up when another provider answered, and that one was not called in this replay.",
            shown(&key),
            recording.line,
            self.path.display()
        );
        self.missed.lock().push(text.clone());
        HubError::new(ErrorKind::NotFound, text).with_outcome(Outcome::NotSent)
    }

    pub(super) fn list(&self, server: &str) -> Result<String, HubError> {
        self.lists.get(server).cloned().ok_or_else(|| {
            let text = format!(
                "The tools of server '{}' are not in the cassette '{}', and a replay starts no server.",
                clip(server),
                self.path.display()
            );
            HubError::new(ErrorKind::Connect, text).with_outcome(Outcome::NotSent)
        })
    }

    /// What was missed so far, and what was not used.
    pub fn end(&self) -> ReplayEnd {
        let mut unused = Vec::new();
        if self.mode != ReplayMode::Lenient {
            for (key, lane) in &self.calls.lock().lanes {
                unused.extend(lane.left_over().map(|one| (one.line, shown(key))));
            }
        }
        unused.sort();
        let sentence = |(line, what)| {
            format!("The call of {what} in line {line} of '{}' was not made.", self.path.display())
        };
        ReplayEnd { missed: self.missed.lock().clone(), unused: unused.into_iter().map(sentence).collect() }
    }
}

fn with_several(calls: &[Arc<Recording>]) -> HashMap<u64, Vec<Arc<Recording>>> {
    let mut executions: HashMap<u64, Vec<Arc<Recording>>> = HashMap::new();
    for call in calls {
        if let Some(execution) = call.execution {
            executions.entry(execution).or_default().push(call.clone());
        }
    }
    executions.retain(|_, calls| calls.len() > 1);
    executions
}

fn mark_beaten(calls: &mut [Recording]) {
    let succeeded = calls.iter().filter(|call| call.has_succeeded());
    let decided: HashSet<u64> = succeeded.filter_map(|call| call.execution).collect();
    for call in calls.iter_mut() {
        call.was_beaten = call.was_stopped() && call.execution.is_some_and(|one| decided.contains(&one));
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

fn shown((kind, name, candidate): &LaneKey) -> String {
    match kind {
        LineKind::Call => format!("'{}' ({candidate})", clip(name)),
        LineKind::Model => format!("the model '{}'", clip(name)),
    }
}
