//! Questions to legacy clients: a request of the server on the stream of a call, answered by a message of its own.

use super::rpc::{INTERNAL_ERROR, RpcId};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::oneshot;
use toolhub_types::sync::Mutex;
use toolhub_types::tool::QuestionAnswer;

struct OpenQuestion {
    /// The only client whose answer counts.
    asker: Arc<str>,
    answer: oneshot::Sender<QuestionAnswer>,
}

/// The questions that wait for an answer. Each lives as long as the call that asks.
#[derive(Clone, Default)]
pub struct OpenQuestions(Arc<Mutex<HashMap<String, OpenQuestion>>>);

impl OpenQuestions {
    /// Opens a question. `None` when the OS gives no random bytes: an id that can be guessed would let others answer.
    pub fn open(&self, asker: &Arc<str>) -> Option<AwaitedAnswer> {
        let id = random_id()?;
        let (sender, answer) = oneshot::channel();
        self.0.lock().insert(id.clone(), OpenQuestion { asker: asker.clone(), answer: sender });
        Some(AwaitedAnswer { all: self.clone(), id, answer })
    }

    /// Takes the answer of a client. An answer to no question of its own is ignored.
    pub fn answer(&self, asker: &str, id: &RpcId, outcome: Result<Box<RawValue>, Box<RawValue>>) {
        let Ok(id) = serde_json::from_str::<String>(id.as_json()) else { return };
        let mut all = self.0.lock();
        if all.get(&id).is_none_or(|question| &*question.asker != asker) {
            return;
        }
        let Some(question) = all.remove(&id) else { return };
        drop(all);
        // The call may have ended.
        let _ = question.answer.send(match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|_| (INTERNAL_ERROR, unreadable())),
            Err(error) => Err(refusal(&error)),
        });
    }
}

/// A text that cannot be guessed.
pub fn random_id() -> Option<String> {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(random))
}

fn unreadable() -> String {
    "the client's answer cannot be read".to_owned()
}

/// The error with which a client answered.
fn refusal(error: &RawValue) -> (i64, String) {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the client gave no reason");
    (code, toolhub_types::error::clip(message).into_owned())
}

/// A question under way; dropping it closes the question.
pub struct AwaitedAnswer {
    all: OpenQuestions,
    id: String,
    answer: oneshot::Receiver<QuestionAnswer>,
}

impl AwaitedAnswer {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub async fn wait(mut self) -> QuestionAnswer {
        let answer = (&mut self.answer).await;
        answer.unwrap_or_else(|_| Err((INTERNAL_ERROR, "the question was closed".to_owned())))
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{ClientMessage, read_message};
    use serde_json::json;

    fn answer_to(id: &str) -> (RpcId, Result<Box<RawValue>, Box<RawValue>>) {
        let text = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}}).to_string();
        match read_message(text.as_bytes()) {
            Ok(ClientMessage::Response { id, outcome }) => (id, outcome),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn only_the_asked_client_answers() {
        let questions = OpenQuestions::default();
        let asked = questions.open(&Arc::from("one")).unwrap();
        let (id, outcome) = answer_to(asked.id());
        questions.answer("other", &id, outcome.clone());
        questions.answer("one", &answer_to("guessed").0, outcome.clone());
        assert_eq!(questions.0.lock().len(), 1);
        questions.answer("one", &id, outcome);
        assert_eq!(asked.wait().await, Ok(json!({"action": "accept"})));
        drop(questions.open(&Arc::from("one")));
        assert!(questions.0.lock().is_empty(), "a question ends with its call");
    }
}
