//! L1, the contract of a tool. It knows no registry, no runtime, no transport.

mod asking;
mod sent;

pub use asking::{AskCaller, AskFunction, AskRound, CallLog, QuestionAnswer, RoundQuestion, ServerRound};
pub use sent::{Begin, SentFlag};

use crate::error::HubError;
use crate::model::{
    Arguments, BoundValue, CheckOptions, Fitting, ToolIdentity, ToolOutput, ToolSpec, Unchecked,
};
use crate::principal::Principal;
use serde_json::{Map, Value};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Called with each progress report of a tool (`progress`, and perhaps `total` and `message`), on whatever thread.
pub type OnProgress = Arc<dyn Fn(&Value) + Send + Sync>;

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

/// How current the definition of a tool has to be for a call of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// As it is known, perhaps from an earlier process. That it may be repeated is confirmed all the same.
    #[default]
    Any,
    /// Listed over the connection that the call leaves by: a run keeps the definition, or it says that nobody need be asked.
    Connection,
    /// Listed just now: somebody approves it. No promise of a server (`ttlMs`, `listChanged`) takes the place of the list.
    Now,
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
    pub on_tape: Option<Arc<dyn Any + Send + Sync>>,
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
            on_tape: None,
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
