//! Questions to legacy clients: a request of the server on the stream of a call, answered by a message of its own.

use crate::Exchange;
use crate::identity::Caller;
use crate::rpc::{INTERNAL_ERROR, Outlet, RpcId};
use crate::session::{GuardedTable, random};
use base64::prelude::*;
use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;
use toolhub_types::tool::{AskRound, QuestionAnswer, RoundQuestion};

struct OpenQuestion {
    /// The only client whose answer counts.
    asker: Arc<str>,
    answer: oneshot::Sender<QuestionAnswer>,
}

/// The questions that wait for an answer. Each lives as long as the call that asks.
#[derive(Clone, Default)]
pub struct OpenQuestions(GuardedTable<String, OpenQuestion>);

impl OpenQuestions {
    /// Asks by a request on the stream of a call, which the client answers by a message of its own.
    pub async fn ask(self, outlet: Outlet, asker: Arc<str>, method: String, params: Value) -> QuestionAnswer {
        let failed = |why: &str| (INTERNAL_ERROR, why.to_owned());
        // An id that can be guessed would let others answer.
        let id = random_id().ok_or_else(|| failed("could not read random bytes from the OS"))?;
        let (sender, answer) = oneshot::channel();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        // Dropping the question closes it.
        let _open = self.0.enter(id, OpenQuestion { asker, answer: sender });
        if !outlet.send(request.to_string()).await {
            return Err(failed("the client takes no events"));
        }
        answer.await.unwrap_or_else(|_| Err(failed("the question was closed")))
    }

    /// Takes the answer of a client. An answer to no question of its own is ignored.
    pub fn answer(&self, asker: &str, id: &RpcId, outcome: Result<Box<RawValue>, Box<RawValue>>) {
        let Ok(id) = serde_json::from_str::<String>(id.as_json()) else { return };
        let Some(question) = self.0.take(&id, |question| *question.asker == *asker) else { return };
        let unreadable = |_| (INTERNAL_ERROR, "the client's answer cannot be read".to_owned());
        // The call may have ended.
        let _ = question.answer.send(match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(unreadable),
            Err(error) => Err(refusal(&error)),
        });
    }
}

/// A text that cannot be guessed.
pub fn random_id() -> Option<String> {
    Some(BASE64_URL_SAFE_NO_PAD.encode(random::<16>().ok()?))
}

/// The error with which a client answered.
fn refusal(error: &RawValue) -> (i64, String) {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the client gave no reason");
    (code, toolhub_types::error::clip(message).into_owned())
}

/// Tells callers apart. Clients of 2026-07-28 have no session: those with credentials are one caller, and one without is a
/// caller of its own for each of its calls.
pub fn caller_key(caller: &Caller) -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    match caller.session.is_none() && caller.principal.is_anonymous() {
        true => Arc::from(format!("call {}", NEXT.fetch_add(1, Ordering::Relaxed))),
        false => caller.client_key(),
    }
}

/// Puts each question of a round to a legacy client.
pub fn by_request(exchange: &Exchange) -> AskRound {
    let questions = exchange.gateway.kept.questions.clone();
    let (outlet, asker) = (exchange.outlet.clone(), exchange.caller.client_key());
    Arc::new(move |round: Vec<RoundQuestion>, _| {
        let ask =
            |one: RoundQuestion| questions.clone().ask(outlet.clone(), asker.clone(), one.method, one.params);
        Box::pin(join_all(round.into_iter().map(ask).collect::<Vec<_>>()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{ClientMessage, read_message};
    use futures_util::FutureExt;

    fn answer_to(id: &str) -> (RpcId, Result<Box<RawValue>, Box<RawValue>>) {
        let text = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}}).to_string();
        match read_message(text.as_bytes()) {
            Ok(ClientMessage::Response { id, outcome }) => (id, outcome),
            other => panic!("{other:?}"),
        }
    }

    fn open(questions: &OpenQuestions) -> usize {
        let mut count = 0;
        questions.0.each(|_, _| count += 1);
        count
    }

    #[tokio::test]
    async fn only_the_asked_client_answers() {
        let questions = OpenQuestions::default();
        let ask = || {
            let (outlet, messages) = Outlet::open();
            let asked = questions.clone().ask(outlet, Arc::from("one"), "x".to_owned(), json!({}));
            (Box::pin(asked), messages)
        };
        let (mut asked, mut messages) = ask();
        assert!((&mut asked).now_or_never().is_none());
        let sent: Value = serde_json::from_str(&messages.recv().await.unwrap().text).unwrap();
        let (id, outcome) = answer_to(sent["id"].as_str().unwrap());
        questions.answer("other", &id, outcome.clone());
        questions.answer("one", &answer_to("guessed").0, outcome.clone());
        assert_eq!(open(&questions), 1);
        questions.answer("one", &id, outcome);
        assert_eq!(asked.await, Ok(json!({"action": "accept"})));
        let (mut asked, _messages) = ask();
        assert!((&mut asked).now_or_never().is_none());
        assert_eq!(open(&questions), 1);
        drop(asked);
        assert_eq!(open(&questions), 0, "a question ends with its call");
    }
}
