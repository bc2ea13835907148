//! L1, the contract of a tool. It knows no registry, no runtime, no transport.

mod sent;

pub use sent::{Begin, SentFlag};

use crate::error::HubError;
use crate::model::{
    Arguments, BoundValue, CheckOptions, Fitting, Freshness, ToolIdentity, ToolOutput, ToolSpec, Unchecked,
};
use crate::principal::Principal;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Called with each progress report of a tool (`progress`, and perhaps `total` and `message`), on whatever thread.
pub type OnProgress = Arc<HearsProgress>;

type HearsProgress = dyn Fn(&Value) + Send + Sync;

/// Those that hear the progress of something that they share, for as long as they keep their functions.
#[derive(Default)]
pub struct ProgressListeners(Mutex<Vec<Weak<HearsProgress>>>);

impl ProgressListeners {
    /// Adds one, unless it is there.
    pub fn add(&self, told: &OnProgress) {
        let (mut all, told) = (self.0.lock(), Arc::downgrade(told));
        all.retain(|one| one.strong_count() > 0 && !one.ptr_eq(&told));
        all.push(told);
    }

    /// Tells them all.
    pub fn all(self: Arc<Self>) -> OnProgress {
        Arc::new(move |update| {
            let all: Vec<OnProgress> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
            all.iter().for_each(|told| told(update));
        })
    }
}

/// Tells one, then the other.
pub fn both(one: OnProgress, other: OnProgress) -> OnProgress {
    Arc::new(move |update| {
        one(update);
        other(update);
    })
}

/// Called on whatever thread.
pub type OnTask = Arc<dyn Fn() + Send + Sync>;

/// Done before a candidate that may act is called, with its label; if it fails, the candidate is not called.
pub type BeforeActing = Arc<dyn Fn(&str) -> BoxFuture<'static, Result<(), HubError>> + Send + Sync>;

/// Hears of the attempts of a call, on whatever thread.
pub trait AttemptWatch: Send + Sync {
    /// A candidate has passed the limits and is called. Returns the number that `ended` gets.
    fn began(&self, candidate: &str) -> u64;

    /// `outcome` is `ok`, `stopped` or the kind of an error. One that is late answered when the call was decided.
    fn ended(&self, attempt: u64, outcome: &'static str, is_late: bool);
}

/// Set before the token of the call fires.
pub type CancelReason = Arc<OnceLock<String>>;

/// What a caller gives to the tools of its call in addition to the arguments.
#[derive(Clone, Default)]
pub struct CallContextExtras {
    pub progress: Option<OnProgress>,
    /// Passed on to the tool's server as it is.
    pub meta: Map<String, Value>,
    /// Whose credentials the tool's server gets, if it asks for those of the caller.
    pub principal: Option<Arc<Principal>>,
    /// `None`: a question goes to the owner of the hub, if there is a function for it.
    pub ask: Option<AskCaller>,
    /// `None`: the caller does not want the log of the call.
    pub log: Option<CallLog>,
    /// Called when the tool's server has answered the call with a task, which is then followed to its end.
    pub on_task: Option<OnTask>,
    /// Why the caller has cancelled the call, once it has, in its own words.
    pub cancel_reason: CancelReason,
    /// The output keeps the text of a server's result, so that it can be passed on unchanged.
    pub keep_raw: bool,
    /// `None`: nobody looks at the attempts.
    pub watch: Option<Arc<dyn AttemptWatch>>,
    pub before_acting: Option<BeforeActing>,
    /// The request was begun elsewhere: its server has asked these questions, which are answered instead of sending it anew.
    pub resumes: Option<Arc<ServerRound>>,
}

/// What a call carries in addition to its arguments.
#[derive(Clone)]
pub struct CallContext {
    /// When the caller stops waiting.
    pub deadline: Instant,
    /// Fires when the caller has gone or another candidate has won.
    pub cancel: CancellationToken,
    pub extras: CallContextExtras,
    /// How current the definition has to be with which the tool was chosen: the call must not run another one.
    pub freshness: Freshness,
    /// Called before each retry with `tries`, `seconds` until then, and the `error` of the last one.
    pub retried: Option<OnProgress>,
    /// Whether anything of this attempt was sent. See [`Tool::marks_sent`].
    pub sent: Arc<SentFlag>,
    /// The slots of the limits that the call has passed. A tool whose work may go on after its future has ended holds them until
    /// the work has ended.
    pub permits: Option<Weak<dyn Any + Send + Sync>>,
    /// The call as those inside its tool know it, if it is recorded.
    pub on_cassette: Option<Arc<dyn Any + Send + Sync>>,
}

impl CallContext {
    pub fn new(deadline: Instant, cancel: CancellationToken) -> Self {
        CallContext {
            deadline,
            cancel,
            extras: CallContextExtras::default(),
            freshness: Freshness::default(),
            retried: None,
            sent: Arc::default(),
            permits: None,
            on_cassette: None,
        }
    }
}

/// Something an agent may call. `Any`, so that a driver can recognise the tools of its own world.
pub trait Tool: Any + Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Refuses arguments that do not fit, before anything starts. Gives others to be used instead, when they could be made
    /// to fit without harm and the options allow it.
    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError>;

    /// Rules of the schema that are not checked for any arguments.
    fn unchecked(&self) -> &[Unchecked] {
        &[]
    }

    /// What tells this tool apart from others of the same name, source and server. `None`: there is only one of them.
    fn identity(&self) -> Option<&ToolIdentity> {
        None
    }

    /// What the definition has in addition to the spec: `title`, `outputSchema`, `icons`, `_meta`, and members that the hub does
    /// not know.
    fn definition_extras(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Who runs it, which a definition does not say: the program or the address of a server, without secrets.
    fn provider(&self) -> Value {
        Value::Null
    }

    /// What it runs with beside its definition and its provider: what is approved, is approved with it.
    fn bound(&self) -> Vec<BoundValue> {
        Vec::new()
    }

    /// The version that the program gives itself, if it does.
    fn program_version(&self) -> Option<&str> {
        None
    }

    /// Whether the definition is known. It is not for a tool of a server that has not listed it.
    fn is_defined(&self) -> bool {
        true
    }

    /// Whether the definition is as current as this. A server may change its tools without a word, so it is asked for the
    /// definition of now.
    fn is_current(&self, _: Freshness) -> bool {
        true
    }

    /// What is known about a call that waits for the tool to become available, as a text that is safe to show.
    fn why_waiting(&self) -> Option<String> {
        None
    }

    /// Whether the tool itself marks `ctx.sent`, because it may have to wait before anything happens: for its server, for a
    /// thread. Otherwise the driver does when it calls the tool.
    fn marks_sent(&self) -> bool {
        false
    }

    /// Ends soon after `ctx.cancel` fires. Dropping the future alone must not be relied on.
    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>>;
}

// What a running call tells its caller and asks it.

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
