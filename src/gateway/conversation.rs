//! Calls of modern clients that stop for a question: the client gets the question as a result, and sends the request again
//! with the answer. In between, the call waits here.

use super::capability::MissingCapability;
use super::relay::Outlet;
use super::rpc::INTERNAL_ERROR;
use crate::plan::CallResult;
use crate::sync::Mutex;
use crate::tool::{AskCaller, QuestionAnswer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::DropGuard;

/// How long a call waits for an answer before it is cancelled.
pub const ANSWER_TIME: Duration = Duration::from_secs(300);
/// The calls that may wait for answers at once.
const MOST_WAITING: usize = 1_000;

/// A question of a running call.
pub struct AskedQuestion {
    pub method: String,
    pub params: Value,
    answer: oneshot::Sender<QuestionAnswer>,
}

/// The end of a conversation that a call asks through.
#[derive(Clone)]
pub struct Questioner(mpsc::Sender<AskedQuestion>);

impl Questioner {
    pub fn channel() -> (Questioner, mpsc::Receiver<AskedQuestion>) {
        let (sender, receiver) = mpsc::channel(1);
        (Questioner(sender), receiver)
    }

    /// As the tools of a call see it.
    pub fn asker(self, caller: Arc<str>) -> AskCaller {
        let ask = move |method: &str, params: Value| -> crate::tool::BoxFuture<'static, QuestionAnswer> {
            let (sender, method) = (self.0.clone(), method.to_owned());
            Box::pin(async move {
                let closed = || (INTERNAL_ERROR, "the client is gone".to_owned());
                let (answer, answered) = oneshot::channel();
                sender.send(AskedQuestion { method, params, answer }).await.map_err(|_| closed())?;
                answered.await.map_err(|_| closed())?
            })
        };
        AskCaller { caller, ask: Arc::new(ask) }
    }
}

/// A call under way. Dropping it cancels the call.
pub struct Conversation {
    pub tool: Arc<str>,
    /// Where progress goes: to the request that waits at the moment.
    pub outlet: Arc<Mutex<Outlet>>,
    pub questions: mpsc::Receiver<AskedQuestion>,
    pub result: oneshot::Receiver<CallResult>,
    /// The question that the client has.
    pub open: Option<AskedQuestion>,
    pub missing: MissingCapability,
    pub _guard: DropGuard,
}

/// What a conversation came to.
pub enum ConversationStep {
    Done(Box<CallResult>),
    /// There is a question in `open`.
    Asks,
    /// The call is gone without a result.
    Lost,
}

impl Conversation {
    /// Waits for the end of the call, or for its next question.
    pub async fn step(&mut self) -> ConversationStep {
        if self.open.is_some() {
            return ConversationStep::Asks;
        }
        tokio::select! {
            biased;
            Some(question) = self.questions.recv() => {
                self.open = Some(question);
                ConversationStep::Asks
            }
            result = &mut self.result => match result {
                Ok(result) => ConversationStep::Done(Box::new(result)),
                Err(_) => ConversationStep::Lost,
            },
        }
    }

    /// Gives the answer to the open question.
    pub fn answer(&mut self, answer: Value) {
        if let Some(question) = self.open.take() {
            // The call may have ended in the meantime; then its result is next.
            let _ = question.answer.send(Ok(answer));
        }
    }
}

struct WaitingCall {
    conversation: Conversation,
    expires: Instant,
}

#[derive(Default)]
struct WaitingState {
    calls: HashMap<String, WaitingCall>,
    /// A task cancels those whose time is over. One is enough, however often the map is empty in between.
    has_task: bool,
}

/// The calls that wait for the answer of a client.
#[derive(Clone, Default)]
pub struct WaitingCalls(Arc<Mutex<WaitingState>>);

impl WaitingCalls {
    /// Keeps a call for its client; false when too many are waiting already. The call is cancelled then.
    pub fn keep(&self, id: String, conversation: Conversation) -> bool {
        let expires = Instant::now() + ANSWER_TIME;
        let mut state = self.0.lock();
        if state.calls.len() >= MOST_WAITING {
            return false;
        }
        state.calls.insert(id, WaitingCall { conversation, expires });
        let had_task = std::mem::replace(&mut state.has_task, true);
        drop(state);
        if !had_task {
            tokio::spawn(expire(self.clone()));
        }
        true
    }

    /// The call of this id, if it is still waiting.
    pub fn take(&self, id: &str) -> Option<Conversation> {
        self.0.lock().calls.remove(id).map(|call| call.conversation)
    }
}

/// Cancels calls whose time is over, for as long as any are waiting.
async fn expire(calls: WaitingCalls) {
    loop {
        let next = {
            let mut state = calls.0.lock();
            let now = Instant::now();
            state.calls.retain(|_, call| call.expires > now);
            let next = state.calls.values().map(|call| call.expires).min();
            state.has_task = next.is_some();
            next
        };
        match next {
            Some(next) => tokio::time::sleep_until(next).await,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_util::sync::CancellationToken;

    fn conversation(cancel: &CancellationToken) -> Conversation {
        let (_, questions) = Questioner::channel();
        let (_, result) = oneshot::channel();
        let outlet = Arc::new(Mutex::new(Outlet::open().0));
        let missing = MissingCapability::default();
        let _guard = cancel.clone().drop_guard();
        Conversation { tool: Arc::from("t"), outlet, questions, result, open: None, missing, _guard }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_end_when_no_answer_comes_and_one_task_watches_them() {
        let calls = WaitingCalls::default();
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for id in ["one", "two", "three"] {
            assert!(calls.keep(id.to_owned(), conversation(&CancellationToken::new())));
            assert!(calls.take(id).is_some());
        }
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks + 1);
        let cancel = CancellationToken::new();
        calls.keep("four".to_owned(), conversation(&cancel));
        cancel.cancelled().await;
        assert!(calls.take("four").is_none());
        tokio::task::yield_now().await;
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
        // The next one is watched again.
        let cancel = CancellationToken::new();
        calls.keep("five".to_owned(), conversation(&cancel));
        cancel.cancelled().await;
    }
}
