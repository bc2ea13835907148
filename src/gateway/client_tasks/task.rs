//! One task of a client: its state, and how each era writes it.

use crate::caller::Caller;
use crate::operate::timestamp;
use crate::questions::random_id;
use crate::relay::Outlet;
use crate::rpc::RpcError;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::Era;
use toolhub_types::aside::heavy;
use toolhub_types::sync::Mutex;
use toolhub_types::tool::{QuestionAnswer, RoundQuestion};

/// How often a client should ask.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The longest life of a task, and that of one whose client asks for none.
pub const LONGEST_TTL: Duration = Duration::from_secs(3600);

/// To whom a task belongs.
pub struct TaskOwner {
    pub principal: Arc<str>,
    view: Arc<str>,
    session: Option<Arc<str>>,
}

impl TaskOwner {
    fn new(caller: &Caller) -> Self {
        TaskOwner {
            principal: caller.principal.id.clone(),
            view: caller.view.name.clone(),
            session: caller.session.clone(),
        }
    }

    /// Whether this caller may ask for the task. Callers without credentials are one principal; their ids cannot be guessed.
    pub fn is(&self, caller: &Caller) -> bool {
        self.principal == caller.principal.id && self.view == caller.view.name
    }

    pub fn is_session(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }

    /// Whether the list of this caller shows the task. Callers without credentials see those of their own session.
    pub fn lists_for(&self, caller: &Caller) -> bool {
        let is_session = || caller.session.as_deref().is_some_and(|session| self.is_session(session));
        self.is(caller) && (!caller.principal.is_anonymous() || is_session())
    }
}

/// What a task is made of.
pub struct ClientTaskStart {
    pub(super) owner: TaskOwner,
    era: Era,
    ttl: Duration,
    /// Cancels the call.
    cancel: CancellationToken,
    /// Fires when the task is to be forgotten.
    removed: CancellationToken,
    outlet: Arc<Mutex<Outlet>>,
}

impl ClientTaskStart {
    /// `ttl` is what the client asks for.
    pub fn new(
        caller: &Caller,
        ttl: Option<Duration>,
        cancel: CancellationToken,
        removed: CancellationToken,
        outlet: Arc<Mutex<Outlet>>,
    ) -> Self {
        let ttl = ttl.unwrap_or(LONGEST_TTL).min(LONGEST_TTL);
        ClientTaskStart { owner: TaskOwner::new(caller), era: caller.era, ttl, cancel, removed, outlet }
    }
}

pub struct ClientTask {
    pub id: Arc<str>,
    pub owner: TaskOwner,
    era: Era,
    created: SystemTime,
    ttl: Duration,
    pub(super) expires: Instant,
    cancel: CancellationToken,
    pub(super) removed: CancellationToken,
    /// Where progress goes: to the request that waits for the result, if there is one.
    pub outlet: Arc<Mutex<Outlet>>,
    state: Mutex<ClientTaskState>,
    changes: watch::Sender<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientTaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl ClientTaskStatus {
    fn name(self) -> &'static str {
        match self {
            ClientTaskStatus::Working => "working",
            ClientTaskStatus::InputRequired => "input_required",
            ClientTaskStatus::Completed => "completed",
            ClientTaskStatus::Failed => "failed",
            ClientTaskStatus::Cancelled => "cancelled",
        }
    }

    fn is_end(self) -> bool {
        !matches!(self, ClientTaskStatus::Working | ClientTaskStatus::InputRequired)
    }
}

/// A question that the client has not answered.
#[derive(Clone)]
pub struct TaskQuestion {
    /// Unique in the life of the task.
    pub key: String,
    pub question: RoundQuestion,
}

struct ClientTaskState {
    status: ClientTaskStatus,
    message: Option<String>,
    updated: SystemTime,
    /// The end of a task that was not cancelled.
    answer: Option<Result<Arc<str>, RpcError>>,
    open: Vec<TaskQuestion>,
    /// Answers to the questions of this round, by the keys of the call.
    given: Vec<(String, QuestionAnswer)>,
}

/// Where a task is.
pub enum TaskStep {
    Working,
    Asks(Vec<TaskQuestion>),
    Ended(Result<Arc<str>, RpcError>),
    Cancelled,
}

impl ClientTask {
    /// `None` when the OS gives no random bytes: an id must not be guessed.
    pub(super) fn new(start: ClientTaskStart) -> Option<Self> {
        let ClientTaskStart { owner, era, ttl, cancel, removed, outlet } = start;
        let created = SystemTime::now();
        Some(ClientTask {
            id: Arc::from(random_id()?),
            owner,
            era,
            created,
            ttl,
            expires: Instant::now() + ttl,
            cancel,
            removed,
            outlet,
            state: Mutex::new(ClientTaskState {
                status: ClientTaskStatus::Working,
                message: None,
                updated: created,
                answer: None,
                open: Vec::new(),
                given: Vec::new(),
            }),
            changes: watch::Sender::new(()),
        })
    }

    pub fn is_modern(&self) -> bool {
        self.era == Era::Modern
    }

    /// Orders tasks by their age; made of what its client knows.
    pub fn name(&self) -> String {
        format!("{} {}", timestamp(self.created), self.id)
    }

    /// Fires with each change of the state.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Returns when the task is not kept any more.
    pub async fn gone(&self) {
        self.removed.cancelled().await;
    }

    pub fn step(&self) -> TaskStep {
        let state = self.state.lock();
        match (state.status, &state.answer) {
            (ClientTaskStatus::Working, _) => TaskStep::Working,
            (ClientTaskStatus::InputRequired, _) => TaskStep::Asks(state.open.clone()),
            (ClientTaskStatus::Completed | ClientTaskStatus::Failed, Some(answer)) => {
                TaskStep::Ended(answer.clone())
            }
            _ => TaskStep::Cancelled,
        }
    }

    /// Changes the state of a task that has not ended; false if it has.
    fn change(&self, change: impl FnOnce(&mut ClientTaskState)) -> bool {
        let mut state = self.state.lock();
        if state.status.is_end() {
            return false;
        }
        change(&mut state);
        state.updated = SystemTime::now();
        drop(state);
        self.changes.send_replace(());
        true
    }

    /// What the call says of its progress.
    pub fn set_message(&self, message: &str) {
        self.change(|state| state.message = Some(toolhub_types::error::clip(message).into_owned()));
    }

    /// The call has ended.
    pub(super) fn end(&self, answer: Result<String, RpcError>, is_failure: bool) -> bool {
        // For the modern era, a tool that reports a failure has completed.
        let failed = match self.era {
            Era::Legacy => is_failure || answer.is_err(),
            Era::Modern => answer.is_err(),
        };
        self.change(|state| {
            state.status = if failed { ClientTaskStatus::Failed } else { ClientTaskStatus::Completed };
            state.message = answer.as_ref().err().map(|error| error.message.to_string());
            state.answer = Some(answer.map(Arc::from));
            state.open.clear();
        })
    }

    /// Cancels the call; false if the task has ended already.
    pub fn cancel(&self) -> bool {
        let is_first = self.change(|state| {
            state.status = ClientTaskStatus::Cancelled;
            state.message = Some("The client cancelled the task.".to_owned());
            state.open.clear();
        });
        self.cancel.cancel();
        is_first
    }

    /// The call asks these questions, in its round of this number.
    pub(super) fn ask(&self, round: u64, questions: Vec<RoundQuestion>) {
        let keyed =
            |question: RoundQuestion| TaskQuestion { key: format!("{round}-{}", question.key), question };
        let open: Vec<TaskQuestion> = questions.into_iter().map(keyed).collect();
        self.change(|state| {
            state.status = ClientTaskStatus::InputRequired;
            state.open = open;
            state.given.clear();
        });
    }

    /// Takes the answer to a question. An answer to a question that is not open is ignored.
    pub fn answer(&self, key: &str, answer: QuestionAnswer) {
        self.change(|state| {
            let Some(at) = state.open.iter().position(|open| open.key == key) else { return };
            let question = state.open.remove(at).question;
            state.given.push((question.key, answer));
            if state.open.is_empty() {
                state.status = ClientTaskStatus::Working;
            }
        });
    }

    /// The answers, when all questions are answered.
    pub(super) async fn answers(&self) -> Vec<(String, QuestionAnswer)> {
        let mut changes = self.watch();
        loop {
            {
                let mut state = self.state.lock();
                if state.status == ClientTaskStatus::Working && !state.given.is_empty() {
                    return std::mem::take(&mut state.given);
                }
            }
            if changes.changed().await.is_err() {
                return Vec::new();
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().status.is_end()
    }

    pub fn result_bytes(&self) -> usize {
        match &self.state.lock().answer {
            Some(Ok(answer)) => answer.len(),
            _ => 0,
        }
    }

    /// The task as its era writes it, without what it came to.
    pub fn summary(&self) -> Map<String, Value> {
        self.written(&self.state.lock())
    }

    /// The task with its result, its error or its questions.
    pub fn details(&self) -> Map<String, Value> {
        let state = self.state.lock();
        let mut task = self.written(&state);
        match (&state.answer, state.status) {
            (Some(Ok(answer)), _) => {
                let answer = answer.clone();
                // A large one is read without the lock.
                drop(state);
                let read = || serde_json::from_str(&answer).unwrap_or_else(|_| json!({}));
                task.insert("result".to_owned(), heavy(answer.len(), read));
            }
            (Some(Err(error)), _) => drop(task.insert("error".to_owned(), json!(error))),
            (None, ClientTaskStatus::InputRequired) => {
                let open = state.open.iter().map(|open| {
                    let RoundQuestion { method, params, .. } = &open.question;
                    (open.key.clone(), json!({"method": method, "params": params}))
                });
                task.insert("inputRequests".to_owned(), Value::Object(open.collect()));
            }
            _ => {}
        }
        task
    }

    fn written(&self, state: &ClientTaskState) -> Map<String, Value> {
        let (ttl, poll_interval) = match self.era {
            Era::Legacy => ("ttl", "pollInterval"),
            Era::Modern => ("ttlMs", "pollIntervalMs"),
        };
        let millis = |duration: Duration| json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let mut task = Map::from_iter([
            ("taskId".to_owned(), json!(&*self.id)),
            ("status".to_owned(), json!(state.status.name())),
            ("createdAt".to_owned(), json!(timestamp(self.created))),
            ("lastUpdatedAt".to_owned(), json!(timestamp(state.updated))),
            (ttl.to_owned(), millis(self.ttl)),
            (poll_interval.to_owned(), millis(POLL_INTERVAL)),
        ]);
        if let Some(message) = &state.message {
            task.insert("statusMessage".to_owned(), json!(message));
        }
        task
    }
}
