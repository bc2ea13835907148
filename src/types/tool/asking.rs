//! What a running call tells its caller and asks it.

use futures_util::future::{BoxFuture, join_all};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// An answer to a question: a result, or a JSON-RPC code and a sentence.
pub type QuestionAnswer = Result<Value, (i64, String)>;

/// Puts a question to the caller of one call: the method of the question (`elicitation/create`) and its parameters.
pub type AskFunction = Arc<dyn Fn(&str, Value) -> BoxFuture<'static, QuestionAnswer> + Send + Sync>;

/// One question of several that are asked together.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundQuestion {
    /// The name of the question for the one that asks.
    pub key: String,
    pub method: String,
    pub params: Value,
}

/// The questions of a server that keeps nothing about the request in between: what it asks, and the state that it wants back with
/// the answers. Whoever has both can go on with the request, on a connection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRound {
    pub server: Arc<str>,
    /// Its `inputRequests`.
    pub requests: Map<String, Value>,
    /// Its `requestState`.
    pub state: String,
}

/// Puts several questions to the caller at once; the answers come in the same order. `ServerRound`: the questions are those of
/// a server that can be answered from elsewhere too.
pub type AskRound = Arc<
    dyn Fn(Vec<RoundQuestion>, Option<ServerRound>) -> BoxFuture<'static, Vec<QuestionAnswer>> + Send + Sync,
>;

/// The key of a question that is asked alone.
const ALONE: &str = "question";

/// How the caller of a call is asked. Questions about a call go to its own caller only.
#[derive(Clone)]
pub struct AskCaller {
    /// Which caller this is. Calls with the same text belong to the same caller.
    pub caller: Arc<str>,
    /// What the caller can be asked, as the capabilities of an MCP client.
    pub capabilities: Arc<Value>,
    round: AskRound,
}

impl AskCaller {
    /// A caller that gets all questions of a round together.
    pub fn new(caller: Arc<str>, capabilities: Arc<Value>, round: AskRound) -> Self {
        AskCaller { caller, capabilities, round }
    }

    /// A caller that gets each question by itself.
    pub fn one_by_one(caller: Arc<str>, capabilities: Arc<Value>, ask: AskFunction) -> Self {
        let round: AskRound = Arc::new(move |questions: Vec<RoundQuestion>, _| {
            Box::pin(join_all(questions.into_iter().map(|one| ask(&one.method, one.params))))
        });
        AskCaller::new(caller, capabilities, round)
    }

    pub fn ask_round(
        &self,
        questions: Vec<RoundQuestion>,
        server: Option<ServerRound>,
    ) -> BoxFuture<'static, Vec<QuestionAnswer>> {
        (self.round)(questions, server)
    }

    pub fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, QuestionAnswer> {
        const NO_ANSWER: i64 = -32603;
        let question = RoundQuestion { key: ALONE.to_owned(), method: method.to_owned(), params };
        let answers = (self.round)(vec![question], None);
        Box::pin(async move {
            let no_answer = || Err((NO_ANSWER, "there is no answer".to_owned()));
            answers.await.pop().unwrap_or_else(no_answer)
        })
    }
}

/// Where the log messages of a call go.
#[derive(Clone)]
pub struct CallLog {
    /// The least level that the caller wants to see, such as `info`.
    pub level: &'static str,
    /// Called with `level`, `data` and perhaps `logger`, on any thread.
    pub write: Arc<dyn Fn(&Value) + Send + Sync>,
}
