//! Questions to clients. To a legacy client: a request of the server on the stream of a call, answered by a message of its own. To a
//! modern one: a result with a `requestState`, which comes back with the answers.

use crate::Exchange;
use crate::identity::Caller;
use crate::rpc::{INTERNAL_ERROR, Outlet, RpcId};
use crate::session::{GuardedTable, SessionKeys, SessionRefusal, end_of, random, seconds};
use base64::prelude::*;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use toolhub_text::canonical::canonical;
use toolhub_types::model::Arguments;
use toolhub_types::tool::{AskRound, QuestionAnswer, RoundQuestion, ServerRound};

/// The questions that wait for an answer, each with the only client whose answer counts. One lives as long as the call that asks.
pub type OpenQuestions = GuardedTable<String, (Arc<str>, oneshot::Sender<QuestionAnswer>)>;

impl OpenQuestions {
    /// Asks by a request on the stream of a call, which the client answers by a message of its own.
    pub async fn ask(self, outlet: Outlet, asker: Arc<str>, method: String, params: Value) -> QuestionAnswer {
        let failed = |why: &str| (INTERNAL_ERROR, why.to_owned());
        // An id that can be guessed would let others answer.
        let id = random_id().ok_or_else(|| failed("could not read random bytes from the OS"))?;
        let (sender, answer) = oneshot::channel();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        // Dropping the question closes it.
        let _open = self.enter(id, (asker, sender));
        if !outlet.send(request.to_string()).await {
            return Err(failed("the client takes no events"));
        }
        answer.await.unwrap_or_else(|_| Err(failed("the question was closed")))
    }

    /// Takes the answer of a client. An answer to no question of its own is ignored.
    pub fn answer(&self, asker: &str, id: &RpcId, outcome: Result<Box<RawValue>, Box<RawValue>>) {
        let Ok(id) = serde_json::from_str::<String>(id.as_json()) else { return };
        let Some((_, answer)) = self.take(&id, |(own, _)| **own == *asker) else { return };
        let unreadable = |_| (INTERNAL_ERROR, "the client's answer cannot be read".to_owned());
        // The call may have ended.
        let _ = answer.send(match outcome {
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

// The `requestState` that a modern client gets with questions, and sends back with the answers.
//
// It is sealed (`session/sealing.rs`) for one caller, view and request, so it opens for the same request only. It names the call
// that waits in the memory of one replica. If the questions are those of a server that keeps nothing about the request itself, the
// state carries all that the server needs to go on: any replica that shares the keys sends it the answers.

/// How long a caller may take to answer a question.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Of what the gateway takes back, in characters. The state of a server that would make it longer stays on its replica.
const LONGEST: usize = 1024 * 1024;

/// What a request asks for. A state opens for the same request of the same caller only.
#[derive(Clone)]
pub struct RequestSubject {
    pub method: &'static str,
    pub name: String,
    pub arguments: Arc<Arguments>,
}

impl RequestSubject {
    /// Calls `with` with the place of the states of this request.
    fn at_place<T>(&self, caller: &Caller, with: impl FnOnce(&[&str]) -> T) -> T {
        let arguments = canonical(self.arguments.as_value());
        with(&[&caller.principal.id, &caller.view.name, self.method, &self.name, &arguments])
    }
}

/// What a state says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestState {
    /// The gateway in whose memory the call waits.
    pub replica: Arc<str>,
    /// The name of the call there.
    pub id: Arc<str>,
    pub server: Option<ServerRound>,
}

impl RequestState {
    /// `None` never happens: there is always a key.
    pub fn seal(
        self,
        keys: &SessionKeys,
        caller: &Caller,
        subject: &RequestSubject,
        now: SystemTime,
    ) -> Option<String> {
        // With the second of its end, since 1970.
        let content = serde_json::to_vec(&(&self, end_of(now, LIFETIME))).ok()?;
        let text = subject.at_place(caller, |place| keys.seal_state(place, &content))?;
        if text.len() <= LONGEST || self.server.is_none() {
            return Some(text);
        }
        RequestState { server: None, ..self }.seal(keys, caller, subject, now)
    }

    /// What was sealed for this request.
    pub fn open(
        text: &str,
        keys: &SessionKeys,
        caller: &Caller,
        subject: &RequestSubject,
        now: SystemTime,
    ) -> Result<Self, SessionRefusal> {
        let open = || subject.at_place(caller, |place| keys.open_state(place, text, now));
        let opened = (text.len() <= LONGEST).then(open).flatten();
        let opened = opened.and_then(|content| serde_json::from_slice(&content).ok());
        let (state, expires): (Self, u64) = opened.ok_or(SessionRefusal::Forged)?;
        if expires <= seconds(now) { Err(SessionRefusal::Expired) } else { Ok(state) }
    }
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
        questions.each(|_, _| count += 1);
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

#[cfg(test)]
mod request_state_tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use std::time::UNIX_EPOCH;
    use toolhub_engine::served::View;
    use toolhub_protocol::{Era, MODERN};
    use toolhub_types::principal::Principal;

    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn caller(principal: &str, view: &str) -> Caller {
        Caller {
            principal: Arc::new(Principal { id: Arc::from(principal), ..Principal::anonymous() }),
            view: Arc::new(View { name: Arc::from(view), ..View::default() }),
            era: Era::Modern,
            version: MODERN,
            capabilities: Arc::default(),
            session: None,
            has_one_stream: false,
        }
    }

    fn subject(name: &str, arguments: Value) -> RequestSubject {
        let arguments = Arc::new(Arguments::new(arguments.as_object().cloned().unwrap_or_default()));
        RequestSubject { method: "tools/call", name: name.to_owned(), arguments }
    }

    fn state(server_state: String) -> RequestState {
        let requests = Map::from_iter([("form".to_owned(), json!({"method": "elicitation/create"}))]);
        let server = Some(ServerRound { server: Arc::from("hotel"), requests, state: server_state });
        RequestState { replica: Arc::from("one"), id: Arc::from("call"), server }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn a_state_opens_for_the_same_request_of_the_same_caller_with_any_replica() {
        let keys = || SessionKeys::new([KEY]).unwrap();
        let (ann, oslo) = (caller("ann", "ops"), subject("book", json!({"city": "Oslo", "days": [1, 2]})));
        let sealed = state("its own".to_owned()).seal(&keys(), &ann, &oslo, at(0)).unwrap();
        let open = |keys: &SessionKeys, caller: &Caller, subject: &RequestSubject, seconds| {
            RequestState::open(&sealed, keys, caller, subject, at(seconds))
        };
        let same = subject("book", json!({"days": [1, 2], "city": "Oslo"}));
        assert_eq!(open(&keys(), &ann, &same, 3599), Ok(state("its own".to_owned())));
        assert_eq!(open(&keys(), &ann, &same, 3600), Err(SessionRefusal::Expired));
        for (caller, subject) in [
            (caller("bob", "ops"), oslo.clone()),
            (caller("ann", ""), oslo.clone()),
            (ann.clone(), subject("cancel", json!({"city": "Oslo", "days": [1, 2]}))),
            (ann.clone(), subject("book", json!({"city": "Rome", "days": [1, 2]}))),
            (ann.clone(), subject("book", json!({"city": "Oslo"}))),
            (ann.clone(), RequestSubject { method: "prompts/get", ..oslo.clone() }),
        ] {
            assert_eq!(open(&keys(), &caller, &subject, 1), Err(SessionRefusal::Forged));
        }
        let (other, both) = (SessionKeys::new([OTHER]).unwrap(), SessionKeys::new([OTHER, KEY]).unwrap());
        assert_eq!(open(&other, &ann, &oslo, 1), Err(SessionRefusal::Forged));
        assert!(open(&both, &ann, &oslo, 1).is_ok(), "a key that was replaced");
    }

    #[test]
    fn a_state_that_would_be_too_long_stays_on_its_replica() {
        let (keys, ann, oslo) =
            (SessionKeys::new([KEY]).unwrap(), caller("ann", "ops"), subject("book", json!({})));
        let sealed = state("x".repeat(LONGEST)).seal(&keys, &ann, &oslo, at(0)).unwrap();
        let opened = RequestState::open(&sealed, &keys, &ann, &oslo, at(0)).unwrap();
        assert_eq!(opened, RequestState { server: None, ..state(String::new()) });
    }
}
