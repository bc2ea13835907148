//! Calls that outlive their request. Each is one [`KeptCall`], and a client comes back to it in one of two ways: by the id of a
//! task, or by the `requestState` that it got with the questions of the call.
//!
//! They are kept in memory, by the replica that runs them: for a limited time, and a limited number of them with results of a
//! limited size, of each caller and of all. When there are too many, those that ended first are dropped.

mod call;
mod questions;

pub use call::{CallStep, FinishedCall, KeptCall, KeptEnd, TaskQuestion, TaskSignal};
pub use questions::{RequestState, RequestSubject, by_request, caller_key, random_id};

use crate::identity::Caller;
use crate::session::PrincipalTable;
use questions::OpenQuestions;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_types::sync::{Arc, Mutex};

/// The calls of all clients, and of one principal, that are kept at once.
const MOST_CALLS: usize = 2_000;
pub const MOST_OF_PRINCIPAL: usize = 200;
/// Their results that are kept at once, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_BYTES_OF_PRINCIPAL: usize = MOST_BYTES / 2;
/// How long a call waits for the message that brings its answers. Then it is cancelled.
const ANSWER_TIME: Duration = Duration::from_secs(300);
/// The longest life of a task, and that of one whose client asks for none.
const LONGEST_TTL: Duration = Duration::from_secs(3600);
/// The changes that a slow listener may be behind. It misses older ones, and asks for the task instead.
const MOST_UNHEARD: usize = 256;

struct KeptEntry {
    call: Arc<KeptCall>,
    /// Ends the task that waits for the end of its time.
    _left: DropGuard,
}

/// The calls of a gateway that clients come back to.
#[derive(Clone)]
pub struct KeptCalls {
    calls: Arc<Mutex<PrincipalTable<Arc<str>, KeptEntry>>>,
    /// Tell of each task whose state has changed.
    pub task_changes: broadcast::Sender<Arc<KeptCall>>,
    stop: CancellationToken,
    /// Questions to legacy clients.
    pub questions: OpenQuestions,
    /// Tells this replica from others, also from an earlier process in its place.
    pub replica: Arc<str>,
}

impl KeptCalls {
    /// When `stop` fires, nothing is kept any more. `None` when the OS gives no random bytes.
    pub fn new(stop: CancellationToken) -> Option<Self> {
        let calls = Arc::new(Mutex::new(PrincipalTable::new(MOST_CALLS)));
        let task_changes = broadcast::Sender::new(MOST_UNHEARD);
        let (questions, replica) = (OpenQuestions::default(), random_id()?.into());
        Some(KeptCalls { calls, task_changes, stop, questions, replica })
    }

    /// Keeps a call until the message comes that brings its answers. `None` when `most` of its principal, or too many of all, are
    /// kept and run.
    pub fn keep_waiting(&self, call: &Arc<KeptCall>, most: usize) -> Option<Arc<str>> {
        self.keep(call, most, None)
    }

    /// Keeps a call as a task; `ttl` is what its client asks for.
    pub fn keep_task(&self, call: &Arc<KeptCall>, most: usize, ttl: Option<Duration>) -> Option<Arc<str>> {
        self.keep(call, most, Some(ttl.unwrap_or(LONGEST_TTL).min(LONGEST_TTL)))
    }

    fn keep(&self, call: &Arc<KeptCall>, most: usize, task: Option<Duration>) -> Option<Arc<str>> {
        let principal = call.owner.principal.id.clone();
        // An id that can be guessed would let others ask for the call.
        let id: Arc<str> = random_id()?.into();
        let mut calls = self.calls.lock();
        let pushed_out =
            calls.make_room(&principal, most.min(MOST_OF_PRINCIPAL), |entry| entry.call.is_over())?;
        let left = CancellationToken::new();
        call.keep_as(Some(id.clone()), task);
        let entry = KeptEntry { call: call.clone(), _left: left.clone().drop_guard() };
        calls.insert(&principal, id.clone(), entry);
        drop(calls);
        drop(pushed_out);
        // It may have ended before it was kept.
        self.has_ended(call);
        let (kept, name) = (self.clone(), id.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = left.cancelled() => return,
                () = tokio::time::sleep(task.unwrap_or(ANSWER_TIME)) => {}
                () = kept.stop.cancelled() => {}
            }
            if let Some(call) = kept.remove(&principal, &name) {
                call.abandon();
            }
        });
        Some(id)
    }

    fn remove(&self, principal: &str, id: &str) -> Option<Arc<KeptCall>> {
        let removed = self.calls.lock().remove(principal, id);
        removed.map(|entry| entry.call)
    }

    /// A call that waits; `None` when it has ended, or waits elsewhere.
    pub fn take_waiting(&self, principal: &str, id: &str) -> Option<Arc<KeptCall>> {
        let call = self.remove(principal, id)?;
        call.keep_as(None, None);
        Some(call)
    }

    /// A task of this caller.
    pub fn task(&self, caller: &Caller, id: &str) -> Option<Arc<KeptCall>> {
        let calls = self.calls.lock();
        let call = calls.get(&caller.principal.id, id).map(|entry| entry.call.clone());
        // Callers without credentials are one principal; the ids cannot be guessed.
        call.filter(|call| call.owner.view.name == caller.view.name && call.is_task())
    }

    /// The tasks that the caller has made. Callers without credentials see those of their own session.
    pub fn tasks(&self, caller: &Caller) -> Vec<Arc<KeptCall>> {
        let is_session = |owner: &Caller| owner.session.is_some() && owner.session == caller.session;
        let is_own = |call: &&Arc<KeptCall>| {
            let is_same = !caller.principal.is_anonymous() || is_session(&call.owner);
            is_same && call.owner.view.name == caller.view.name && call.is_task()
        };
        let calls = self.calls.lock();
        calls.of(&caller.principal.id).map(|entry| &entry.call).filter(is_own).cloned().collect()
    }

    /// A call has ended, and may be kept. The results that ended first go until the rest is small enough; its own stays.
    pub(super) fn has_ended(&self, call: &Arc<KeptCall>) {
        if !call.is_over() {
            return;
        }
        let (principal, Some(id)) = (&*call.owner.principal.id, call.id()) else { return };
        let mut calls = self.calls.lock();
        calls.renew(principal, &id);
        let stays = |entry: &KeptEntry| Arc::ptr_eq(&entry.call, call);
        let dropped = [(Some(principal), MOST_BYTES_OF_PRINCIPAL), (None, MOST_BYTES)]
            .map(|(whose, most)| calls.shrink(whose, most, |entry| entry.call.result_bytes(), stays));
        drop(calls);
        drop(dropped);
    }
}

#[cfg(test)]
mod tests;
