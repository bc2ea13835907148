//! Requests of modern clients that stop for questions: the client gets the questions as a result, and sends the request again
//! with the answers. In between, the request is one of the [`WaitingCalls`](super::waiting_calls::WaitingCalls).

use super::capability::MissingCapability;
use super::relay::Outlet;
use super::rpc::{INTERNAL_ERROR, RpcError};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_types::model::Arguments;
use toolhub_types::sync::Mutex;
use toolhub_types::tool::{AskRound, OnTask, QuestionAnswer, RoundQuestion, ServerRound};

/// A call that takes longer becomes a task, if its client takes tasks.
const TASK_AFTER: Duration = Duration::from_secs(10);

/// The questions that a running call asks together.
pub struct OpenRound {
    questions: Vec<RoundQuestion>,
    /// Who asks, if the answers may also come from elsewhere.
    pub server: Option<ServerRound>,
    /// The answers that have come so far, in the order of the questions.
    answers: Vec<Option<QuestionAnswer>>,
    answered: oneshot::Sender<Vec<QuestionAnswer>>,
}

impl OpenRound {
    /// The questions without an answer.
    pub fn open(&self) -> impl Iterator<Item = &RoundQuestion> {
        self.questions.iter().zip(&self.answers).filter(|(_, answer)| answer.is_none()).map(|(one, _)| one)
    }

    /// Takes the answers to these questions out of `given`. An answer that is no object is none.
    fn take(&mut self, given: &mut Map<String, Value>) {
        for (question, answer) in self.questions.iter().zip(&mut self.answers) {
            if answer.is_none() && given.get(&question.key).is_some_and(Value::is_object) {
                *answer = given.remove(&question.key).map(Ok);
            }
        }
    }

    /// Nobody will answer the questions that are open.
    pub fn refuse_open(&mut self, refusal: &(i64, String)) {
        for answer in self.answers.iter_mut().filter(|answer| answer.is_none()) {
            *answer = Some(Err(refusal.clone()));
        }
    }

    /// The client refuses to answer this question.
    pub fn refuse(&mut self, key: &str, refusal: (i64, String)) {
        let all = self.questions.iter().zip(&mut self.answers);
        if let Some((_, answer)) = all.into_iter().find(|(question, _)| question.key == key) {
            *answer = Some(Err(refusal));
        }
    }
}

/// The end of a conversation that a call asks through.
#[derive(Clone)]
pub struct Questioner(mpsc::Sender<OpenRound>);

impl Questioner {
    pub fn channel() -> (Questioner, mpsc::Receiver<OpenRound>) {
        let (sender, receiver) = mpsc::channel(1);
        (Questioner(sender), receiver)
    }

    /// As the tools of a call see it.
    pub fn round(self) -> AskRound {
        Arc::new(move |questions: Vec<RoundQuestion>, server: Option<ServerRound>| {
            let sender = self.0.clone();
            Box::pin(async move {
                let count = questions.len();
                let closed = || vec![Err((INTERNAL_ERROR, "the client is gone".to_owned())); count];
                let (answered, answers) = oneshot::channel();
                let round = OpenRound { questions, server, answers: vec![None; count], answered };
                if sender.send(round).await.is_err() {
                    return closed();
                }
                answers.await.unwrap_or_else(|_| closed())
            })
        })
    }
}

/// What a request came to.
pub struct FinishedRequest {
    pub answer: Result<String, RpcError>,
    /// Whether the answer reports a failure, in whichever form.
    pub is_failure: bool,
}

impl FinishedRequest {
    /// A request that is gone without a result.
    pub fn lost() -> Self {
        let error = RpcError::new(INTERNAL_ERROR, "Internal error: the call ended without a result");
        FinishedRequest { answer: Err(error.in_doubt()), is_failure: true }
    }
}

/// The size of the result of a request, once there is one.
#[derive(Clone, Debug, Default)]
pub struct ResultSize(Arc<AtomicUsize>);

impl ResultSize {
    pub fn set(&self, finished: &FinishedRequest) {
        let bytes = finished.answer.as_ref().map_or(0, String::len);
        self.0.store(bytes, Ordering::Relaxed);
    }

    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether both are of the same request.
    pub fn is(&self, other: &ResultSize) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a request asks for.
#[derive(Clone)]
pub struct RequestSubject {
    pub method: &'static str,
    pub name: String,
    pub arguments: Arc<Arguments>,
}

/// A request under way. Dropping it cancels the request.
pub struct Conversation {
    /// Where progress goes: to the request that waits at the moment.
    pub outlet: Arc<Mutex<Outlet>>,
    pub questions: mpsc::Receiver<OpenRound>,
    pub result: oneshot::Receiver<FinishedRequest>,
    pub result_size: ResultSize,
    /// The questions that the client has.
    pub open: Option<OpenRound>,
    /// Answers that the client gave before they were asked for.
    pub given: Map<String, Value>,
    pub missing: MissingCapability,
    /// When the request becomes a task. `None`: its client takes no tasks.
    pub becomes_task: Option<TaskSignal>,
    pub cancel: CancellationToken,
    pub _guard: DropGuard,
}

/// When a call becomes a task.
#[derive(Clone)]
pub struct TaskSignal {
    /// The server behind the tool has made a task of it.
    by_server: CancellationToken,
    /// It takes long, and no progress is reported to its client.
    after: Option<Duration>,
}

impl TaskSignal {
    /// A client that hears of the progress is not kept waiting without a word.
    pub fn new(reports_progress: bool) -> Self {
        let after = (!reports_progress).then_some(TASK_AFTER);
        TaskSignal { by_server: CancellationToken::new(), after }
    }

    /// As the tools of a call see it.
    pub fn sender(&self) -> OnTask {
        let by_server = self.by_server.clone();
        Arc::new(move || by_server.cancel())
    }

    pub async fn fired(&self) {
        let late = async {
            match self.after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.by_server.cancelled() => {}
            () = late => {}
        }
    }
}

/// What a conversation came to.
pub enum ConversationStep {
    Done(Box<FinishedRequest>),
    /// There are questions in `open`.
    Asks,
}

impl Conversation {
    /// The questions that the client has not answered get no answer.
    pub fn refuse_questions(&mut self, refusal: &(i64, String)) {
        if let Some(round) = &mut self.open {
            round.refuse_open(refusal);
        }
    }

    /// Whether its result waits for the client.
    pub fn has_ended(&self) -> bool {
        !self.result.is_empty()
    }

    /// Waits for the end of the request, or for its next questions.
    pub async fn step(&mut self) -> ConversationStep {
        loop {
            if let Some(mut round) = self.open.take() {
                round.take(&mut self.given);
                if round.open().next().is_some() {
                    self.open = Some(round);
                    return ConversationStep::Asks;
                }
                let answers = round.answers.into_iter().flatten().collect();
                // The request may have ended in the meantime; then its result is next.
                let _ = round.answered.send(answers);
            }
            tokio::select! {
                biased;
                Some(round) = self.questions.recv() => self.open = Some(round),
                result = &mut self.result => {
                    let result = result.unwrap_or_else(|_| FinishedRequest::lost());
                    return ConversationStep::Done(Box::new(result));
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn conversation(cancel: &CancellationToken) -> Conversation {
        let (_, questions) = Questioner::channel();
        let (_, result) = oneshot::channel();
        let outlet = Arc::new(Mutex::new(Outlet::open().0));
        let missing = MissingCapability::default();
        let _guard = cancel.clone().drop_guard();
        let (given, open, becomes_task) = (Map::new(), None, None);
        let cancel = cancel.clone();
        Conversation {
            outlet,
            questions,
            result,
            result_size: ResultSize::default(),
            open,
            given,
            missing,
            becomes_task,
            cancel,
            _guard,
        }
    }
}
