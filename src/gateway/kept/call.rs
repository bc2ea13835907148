//! One call that may outlive its request: what it asks, what it came to, and how each era writes it as a task.

use crate::Exchange;
use crate::identity::{Caller, MissingCapability};
use crate::rpc::{INTERNAL_ERROR, Outlet, RpcError};
use futures_util::FutureExt;
use parking_lot::MutexGuard;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, SystemTime};
use tokio::sync::{broadcast, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_protocol::Era;
use toolhub_store::cassette::timestamp;
use toolhub_types::blocking::block_if_large;
use toolhub_types::sync::{Arc, Mutex};
use toolhub_types::tool::{AskRound, OnTask, QuestionAnswer, RoundQuestion, ServerRound};

/// A call that takes longer becomes a task, if its client takes tasks.
const TASK_AFTER: Duration = Duration::from_secs(10);
/// How long the end of a call takes to reach a tool that waits for an answer.
const ENDING: Duration = Duration::from_secs(5);
/// How often a client should ask for its task.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// When a call becomes a task.
#[derive(Clone)]
pub struct TaskSignal {
    /// The server behind the tool has made a task of it.
    by_server: CancellationToken,
    /// It takes long, and no progress is reported to its client.
    after: Duration,
}

impl TaskSignal {
    /// A client that hears of the progress is not kept waiting without a word.
    pub fn new(reports_progress: bool) -> Self {
        let after = if reports_progress { Duration::MAX } else { TASK_AFTER };
        TaskSignal { by_server: CancellationToken::new(), after }
    }

    /// As the tools of a call see it.
    pub fn sender(&self) -> OnTask {
        let by_server = self.by_server.clone();
        Arc::new(move || by_server.cancel())
    }

    pub async fn fired(&self) {
        let _ = tokio::time::timeout(self.after, self.by_server.cancelled()).await;
    }
}

/// What a call came to.
pub struct FinishedCall {
    pub answer: Result<String, RpcError>,
    /// Whether the answer reports a failure, in whichever form.
    pub is_failure: bool,
}

/// The questions that a running call asks together.
struct AskedRound {
    number: u64,
    questions: Vec<RoundQuestion>,
    /// Who asks, if the answers may also come from elsewhere.
    server: Option<ServerRound>,
    /// The answers that have come so far, in the order of the questions.
    answers: Vec<Option<QuestionAnswer>>,
    answered: oneshot::Sender<Vec<QuestionAnswer>>,
}

impl AskedRound {
    /// The questions without an answer.
    fn open(&self) -> impl Iterator<Item = &RoundQuestion> {
        self.questions.iter().zip(&self.answers).filter(|(_, answer)| answer.is_none()).map(|(one, _)| one)
    }

    /// Takes the answers that `given` has for questions without one.
    fn take(&mut self, mut given: impl FnMut(&RoundQuestion) -> Option<QuestionAnswer>) {
        for (question, answer) in self.questions.iter().zip(&mut self.answers) {
            *answer = answer.take().or_else(|| given(question));
        }
    }
}

/// A question that the client has not answered.
pub struct TaskQuestion {
    /// Unique in the life of the call.
    pub key: String,
    pub question: RoundQuestion,
}

impl TaskQuestion {
    /// As a client gets it inside of a result.
    pub fn request(&self) -> Value {
        json!({"method": self.question.method, "params": self.question.params})
    }
}

/// Where a call is.
pub enum CallStep {
    Working,
    /// The questions without an answer, and who asks, if the answers may also come from elsewhere.
    Asks(Vec<TaskQuestion>, Option<ServerRound>),
    Ended(KeptEnd),
}

#[derive(Clone)]
pub enum KeptEnd {
    Answered {
        answer: Result<Arc<String>, RpcError>,
        has_failed: bool,
    },
    /// Its client has cancelled it.
    Cancelled,
    /// It is not kept any more.
    Gone,
}

#[derive(Default)]
struct KeptState {
    /// Its name among the calls that are kept, while it is one of them.
    id: Option<Arc<str>>,
    /// It is a task for so long.
    task: Option<Duration>,
    /// What the call says of its progress.
    message: Option<String>,
    /// `None` until it changes.
    updated: Option<SystemTime>,
    /// The first one is put to the client.
    rounds: VecDeque<AskedRound>,
    asked: u64,
    /// Answers that the client gave before they were asked for.
    given: Map<String, Value>,
    end: Option<KeptEnd>,
}

impl KeptState {
    fn is_running(&self) -> bool {
        self.end.is_none()
    }

    /// Whether the client can be asked. A server may ask about one call through another one of the same caller: such a question
    /// comes before the answer of a call that has ended. A task that has ended is not asked for any more.
    fn may_ask(&self) -> bool {
        match &self.end {
            None => true,
            Some(KeptEnd::Answered { .. }) => self.task.is_none(),
            Some(KeptEnd::Cancelled | KeptEnd::Gone) => false,
        }
    }

    /// The questions that the client has to answer.
    fn open_round(&self) -> Option<&AskedRound> {
        self.rounds.front().filter(|_| self.may_ask())
    }

    /// Goes on to the first round that has questions without an answer, and somebody who waits for it.
    fn settle(&mut self) {
        while let Some(round) = self.rounds.front_mut() {
            let given = &mut self.given;
            // An answer that is not an object is none.
            round.take(|one| given.get(&one.key)?.is_object().then(|| given.remove(&one.key).map(Ok))?);
            if round.open().next().is_some() && !round.answered.is_closed() {
                return;
            }
            if let Some(round) = self.rounds.pop_front() {
                // The call may have ended in the meantime.
                let _ = round.answered.send(round.answers.into_iter().flatten().collect());
            }
        }
    }

    fn status(&self) -> &'static str {
        match &self.end {
            Some(KeptEnd::Answered { has_failed: true, .. }) => "failed",
            Some(KeptEnd::Answered { .. }) => "completed",
            Some(KeptEnd::Cancelled | KeptEnd::Gone) => "cancelled",
            None if self.rounds.is_empty() => "working",
            None => "input_required",
        }
    }
}

/// A call under way. Dropping it cancels the call.
pub struct KeptCall {
    /// To whom it belongs.
    pub owner: Arc<Caller>,
    created: SystemTime,
    /// Where progress goes: to the message that waits at the moment.
    pub outlet: Outlet,
    pub missing: MissingCapability,
    /// When it becomes a task. `None`: its client takes no tasks, or it is one already.
    pub becomes_task: Option<TaskSignal>,
    pub cancel: CancellationToken,
    state: Mutex<KeptState>,
    changes: watch::Sender<()>,
    /// Hears of its changes while it is a task.
    tasks: broadcast::Sender<Arc<KeptCall>>,
    _guard: DropGuard,
}

impl KeptCall {
    /// A call that has not begun.
    pub fn new(exchange: &Exchange, becomes_task: Option<TaskSignal>) -> Arc<Self> {
        let cancel = exchange.gateway.operation.cancel_running.child_token();
        Arc::new(KeptCall {
            owner: exchange.caller.clone(),
            created: SystemTime::now(),
            outlet: exchange.outlet.branch(),
            missing: MissingCapability::default(),
            becomes_task,
            _guard: cancel.clone().drop_guard(),
            cancel,
            state: Mutex::default(),
            changes: watch::Sender::new(()),
            tasks: exchange.gateway.kept.task_changes.clone(),
        })
    }

    /// Runs it beside its message. A drain waits for its end.
    pub fn run(
        self: &Arc<Self>,
        exchange: &Exchange,
        running: impl Future<Output = FinishedCall> + Send + 'static,
    ) {
        let (call, gateway) = (Arc::downgrade(self), exchange.gateway.clone());
        let place = gateway.operation.drain.enter_beside();
        tokio::spawn(async move {
            let finished = AssertUnwindSafe(running).catch_unwind().await;
            // The client may have gone.
            if let Some(call) = call.upgrade() {
                let lost = |_| {
                    let error =
                        RpcError::new(INTERNAL_ERROR, "Internal error: the call ended without a result");
                    FinishedCall { answer: Err(error.in_doubt()), is_failure: true }
                };
                call.end(finished.unwrap_or_else(lost));
                gateway.kept.has_ended(&call);
            }
            drop(place);
        });
    }

    /// How the call asks its client, as its tools see it.
    pub fn asks(self: &Arc<Self>) -> AskRound {
        let call = Arc::downgrade(self);
        Arc::new(move |questions: Vec<RoundQuestion>, server: Option<ServerRound>| {
            let call = call.clone();
            Box::pin(async move {
                let count = questions.len();
                let (answered, answers) = oneshot::channel();
                let ask = |state: &mut KeptState| {
                    state.asked += 1;
                    let (number, answers) = (state.asked, vec![None; count]);
                    state.rounds.push_back(AskedRound { number, questions, server, answers, answered });
                    state.settle();
                };
                let is_asked = call.upgrade().is_some_and(|call| call.change(KeptState::may_ask, ask));
                if let Ok(answers) = answers.await {
                    return answers;
                }
                if is_asked {
                    // The call has ended: the tool hears of that first, and not that nobody answered.
                    tokio::time::sleep(ENDING).await;
                }
                vec![Err((INTERNAL_ERROR, "the client is gone".to_owned())); count]
            })
        })
    }

    /// Fires with each change of the state.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Questions for which nobody waits any more are not open.
    fn settled(&self) -> MutexGuard<'_, KeptState> {
        let mut state = self.state.lock();
        state.settle();
        state
    }

    pub fn step(&self) -> CallStep {
        let state = self.settled();
        if let Some(round) = state.open_round() {
            return CallStep::Asks(keyed(round).collect(), round.server.clone());
        }
        state.end.clone().map_or(CallStep::Working, CallStep::Ended)
    }

    /// Its answer, once it has ended: nobody else asks for it.
    pub fn take_answer(&self) -> Option<Result<String, RpcError>> {
        let mut state = self.state.lock();
        let end = state.end.take_if(|end| matches!(end, KeptEnd::Answered { .. }))?;
        state.end = Some(KeptEnd::Gone);
        let KeptEnd::Answered { answer, .. } = end else { return None };
        Some(answer.map(Arc::unwrap_or_clone))
    }

    /// Changes a call that `may` be changed; false if it may not.
    fn change(
        self: &Arc<Self>,
        may: impl FnOnce(&KeptState) -> bool,
        change: impl FnOnce(&mut KeptState),
    ) -> bool {
        let mut state = self.state.lock();
        if !may(&state) {
            return false;
        }
        change(&mut state);
        state.updated = Some(SystemTime::now());
        let is_task = state.task.is_some() && !matches!(state.end, Some(KeptEnd::Gone));
        drop(state);
        self.changes.send_replace(());
        if is_task {
            // Often nobody listens.
            let _ = self.tasks.send(self.clone());
        }
        true
    }

    pub fn set_message(self: &Arc<Self>, message: &str) {
        self.change(KeptState::is_running, |state| {
            state.message = Some(toolhub_types::error::clip(message).into_owned())
        });
    }

    /// The client gave these answers, whether they were asked for or not.
    pub fn give(self: &Arc<Self>, answers: Map<String, Value>) {
        self.change(KeptState::may_ask, |state| {
            state.given = answers;
            state.settle();
        });
    }

    /// Takes the answer to a question that was put. An answer to a question that is not open is ignored.
    pub fn answer(self: &Arc<Self>, key: &str, answer: QuestionAnswer) {
        self.change(KeptState::may_ask, |state| {
            let Some(round) = state.rounds.front_mut() else { return };
            let number = round.number;
            round.take(|one| (key_of(number, one) == key).then(|| answer.clone()));
            state.settle();
        });
    }

    /// The call has ended.
    pub(super) fn end(self: &Arc<Self>, finished: FinishedCall) -> bool {
        let FinishedCall { answer, is_failure } = finished;
        let is_modern = self.owner.era == Era::Modern;
        let missing = self.missing.error().filter(|_| is_modern && is_failure);
        let answer = missing.map_or(answer, Err).map(Arc::new);
        // For the modern era, a tool that reports a failure has completed.
        let has_failed = answer.is_err() || is_failure && !is_modern;
        self.change(KeptState::is_running, |state| {
            state.message = answer.as_ref().err().map(|error: &RpcError| error.message.to_string());
            state.end = Some(KeptEnd::Answered { answer, has_failed });
            if state.task.is_some() {
                state.rounds.clear();
            }
        })
    }

    /// Cancels the call; false if it has ended already.
    pub fn cancel(self: &Arc<Self>) -> bool {
        self.give_up(KeptEnd::Cancelled, Some("The client cancelled the task.".to_owned()))
    }

    /// It is not kept any more: nobody will ask for its result.
    pub(super) fn abandon(self: &Arc<Self>) {
        self.give_up(KeptEnd::Gone, None);
    }

    fn give_up(self: &Arc<Self>, end: KeptEnd, why: Option<String>) -> bool {
        let is_first = self.change(KeptState::is_running, |state| {
            state.message = why.or(state.message.take());
            state.end = Some(end);
            state.rounds.clear();
        });
        self.cancel.cancel();
        is_first
    }

    /// It is kept under this name, as a task if it has a life.
    pub(super) fn keep_as(&self, id: Option<Arc<str>>, task: Option<Duration>) {
        let mut state = self.state.lock();
        (state.id, state.task) = (id, task);
    }

    pub fn id(&self) -> Option<Arc<str>> {
        self.state.lock().id.clone()
    }

    pub fn is_task(&self) -> bool {
        self.state.lock().task.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().end.is_some()
    }

    pub fn result_bytes(&self) -> usize {
        match &self.state.lock().end {
            Some(KeptEnd::Answered { answer: Ok(answer), .. }) => answer.len(),
            _ => 0,
        }
    }

    /// Orders tasks by their age; made of what the client knows.
    pub fn name(&self) -> String {
        format!("{} {}", timestamp(self.created), self.id().unwrap_or_default())
    }

    /// The task as its era writes it, without what it came to.
    pub fn summary(&self) -> Map<String, Value> {
        self.written(&self.settled())
    }

    /// The task with its result, its error or its questions.
    pub fn details(&self) -> Map<String, Value> {
        let state = self.settled();
        let mut task = self.written(&state);
        match &state.end {
            Some(KeptEnd::Answered { answer: Ok(answer), .. }) => {
                let answer = answer.clone();
                // A large one is read without the lock.
                drop(state);
                let read = || serde_json::from_str(&answer).unwrap_or_else(|_| json!({}));
                task.insert("result".to_owned(), block_if_large(answer.len(), read));
            }
            Some(KeptEnd::Answered { answer: Err(error), .. }) => {
                _ = task.insert("error".to_owned(), json!(error))
            }
            _ => {
                if let Some(round) = state.open_round() {
                    let open = keyed(round).map(|one| (one.key.clone(), one.request()));
                    task.insert("inputRequests".to_owned(), Value::Object(open.collect()));
                }
            }
        }
        task
    }

    fn written(&self, state: &KeptState) -> Map<String, Value> {
        let (ttl, poll_interval) = match self.owner.era {
            Era::Legacy => ("ttl", "pollInterval"),
            Era::Modern => ("ttlMs", "pollIntervalMs"),
        };
        let millis = |duration: Duration| json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let mut task = Map::from_iter([
            ("taskId".to_owned(), json!(state.id.as_deref())),
            ("status".to_owned(), json!(state.status())),
            ("createdAt".to_owned(), json!(timestamp(self.created))),
            ("lastUpdatedAt".to_owned(), json!(timestamp(state.updated.unwrap_or(self.created)))),
            (ttl.to_owned(), millis(state.task.unwrap_or_default())),
            (poll_interval.to_owned(), millis(POLL_INTERVAL)),
        ]);
        if let Some(message) = &state.message {
            task.insert("statusMessage".to_owned(), json!(message));
        }
        task
    }
}

fn key_of(round: u64, question: &RoundQuestion) -> String {
    format!("{round}-{}", question.key)
}

fn keyed(round: &AskedRound) -> impl Iterator<Item = TaskQuestion> {
    round.open().map(|one| TaskQuestion { key: key_of(round.number, one), question: one.clone() })
}
