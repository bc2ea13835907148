//! What arrives from one server: answers find their request, everything else is handled on the spot.
//!
//! A notification is a callback or a flag, so a storm of them costs time but no memory. A request of the server is answered by a
//! task of its own, up to a limit; above it the answer is a refusal. Pings and refusals wait in a queue, so that each
//! is answered, however fast they come and however slowly the server reads.

use crate::mcp::callbacks::ServerCallbacks;
use crate::mcp::convert::unreadable;
use crate::mcp::wire::{self, Incoming, Malformed};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use toolhub_protocol::TRY_LATER;
use toolhub_text::message;
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras, CallLog, OnProgress, QuestionAnswer};

/// How many requests of one server are being answered at once.
const ANSWERS_AT_ONCE: usize = 64;

/// How many ready answers may wait to be sent. A server that sends more without reading one is not served.
const QUEUED_ANSWERS: usize = 10_000;
/// How many of them are sent at once: over HTTP each is a request.
const SENT_AT_ONCE: usize = 8;

/// Calls that were given up and that a question may still belong to, and for how long.
const MOST_GIVEN_UP: usize = 1_000;
const REMEMBERED: Duration = Duration::from_secs(300);

/// Only clients send these.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

/// A raw result, or why there is none.
pub type RpcReply = Result<Box<RawValue>>;

/// Who answers a question of a server.
pub enum Asked {
    /// The owner of the hub.
    Owner,
    /// The caller of the call that the question belongs to.
    Caller(AskCaller),
    /// Calls of several callers are in flight, and the server does not say to which of them the question belongs.
    Unclear,
}

/// The caller of a call in flight: who is asked about it, and where its log goes.
#[derive(Clone, Default)]
pub struct CallOwner {
    /// `None`: the owner of the hub is asked.
    pub ask: Option<AskCaller>,
    pub log: Option<CallLog>,
    /// The id of the principal on whose behalf the call is made; `None`: the owner of the hub.
    pub principal: Option<Arc<str>>,
}

impl CallOwner {
    pub fn of(call: &CallContextExtras) -> Self {
        let principal = call.principal.as_ref().map(|principal| principal.id.clone());
        CallOwner { ask: call.ask.clone(), log: call.log.clone(), principal }
    }

    fn caller(&self) -> Option<&Arc<str>> {
        self.ask.as_ref().map(|asker| &asker.caller)
    }
}

/// What the bytes of one line or event were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// They answer the request that was wanted, which is settled now.
    pub is_settled: bool,
    /// They are not MCP: no message, and no answer that cannot be read.
    pub is_stray: bool,
}

/// Sends our answer to a request of the server.
pub type Answerer = Box<dyn FnOnce(String) -> BoxFuture<'static, ()> + Send>;

#[derive(Default)]
struct Pending {
    waiting: HashMap<u64, oneshot::Sender<RpcReply>, RandomState>,
    progress: HashMap<u64, OnProgress, RandomState>,
    /// The calls in flight.
    calls: HashMap<u64, WatchedCall, RandomState>,
    /// Calls that were given up and not answered yet: the server may still work on them, and ask.
    given_up: VecDeque<GivenUpCall>,
    /// Counts the messages that may be about any of the calls.
    heard: u64,
}

struct WatchedCall {
    owner: CallOwner,
    is_answered: bool,
    /// Something came that is about it: the server has begun to work.
    is_heard: bool,
    /// [`Pending::heard`] at its beginning.
    heard_before: u64,
}

struct GivenUpCall {
    id: u64,
    caller: Option<Arc<str>>,
    principal: Option<Arc<str>>,
    at: Instant,
}

impl Pending {
    /// The one caller of all calls that the server may be working on; `None` if there may be several. A server that was told of
    /// a cancellation answers the call late or never, so a call that was given up stays in doubt: no other principal gets a
    /// question that may be its.
    fn only_owner(&self) -> Option<CallOwner> {
        let mut given_up = self.recently_given_up();
        // Through its latest call: an earlier one may be answered while the question is on its way, and then nobody is there.
        let latest = self.calls.iter().max_by_key(|(id, _)| **id);
        let Some((_, WatchedCall { owner: own, .. })) = latest else {
            return given_up.all(|call| call.caller.is_none()).then(CallOwner::default);
        };
        let is_alone = self.calls.values().all(|other| other.owner.caller() == own.caller())
            && given_up.all(|call| call.principal == own.principal);
        is_alone.then(|| own.clone())
    }

    fn recently_given_up(&self) -> impl Iterator<Item = &GivenUpCall> {
        self.given_up.iter().filter(|call| call.at.elapsed() < REMEMBERED)
    }

    fn give_up(&mut self, id: u64, owner: &CallOwner) {
        self.given_up.retain(|call| call.at.elapsed() < REMEMBERED);
        if self.given_up.len() >= MOST_GIVEN_UP {
            self.given_up.pop_front();
        }
        let (caller, principal) = (owner.caller().cloned(), owner.principal.clone());
        self.given_up.push_back(GivenUpCall { id, caller, principal, at: Instant::now() });
    }
}

pub struct Inbox {
    /// Get everything that is not an answer, on whatever thread reads from the server.
    pub callbacks: Arc<ServerCallbacks>,
    pending: Mutex<Pending>,
    answers: Arc<Semaphore>,
    /// Of answers that need no work: how many may wait to be sent, and how many may be sent at once.
    ready: Arc<Semaphore>,
    sending: Arc<Semaphore>,
    /// Why no further request can be sent.
    over: OnceLock<HubError>,
    /// Nothing is answered any more.
    pub ended: CancellationToken,
}

impl Inbox {
    pub fn new(callbacks: Arc<ServerCallbacks>) -> Arc<Self> {
        Arc::new(Inbox {
            callbacks,
            pending: Mutex::default(),
            answers: Arc::new(Semaphore::new(ANSWERS_AT_ONCE)),
            ready: Arc::new(Semaphore::new(QUEUED_ANSWERS)),
            sending: Arc::new(Semaphore::new(SENT_AT_ONCE)),
            over: OnceLock::new(),
            ended: CancellationToken::new(),
        })
    }

    /// A place for the answer to a request that is about to be sent. Fails when the connection is over.
    pub fn await_answer(self: &Arc<Self>, id: u64) -> Result<PendingReply> {
        let (sender, reply) = oneshot::channel();
        let mut pending = self.pending.lock();
        if let Some(error) = self.retired() {
            return Err(error);
        }
        pending.waiting.insert(id, sender);
        Ok(PendingReply { inbox: self.clone(), id, reply })
    }

    /// How many requests wait for their answer.
    pub fn waiting(&self) -> usize {
        self.pending.lock().waiting.len()
    }

    /// Until the guard is dropped, progress of the request with this id is passed on, and questions and log messages of a call go to
    /// its caller.
    pub fn watch(
        self: &Arc<Self>,
        id: u64,
        on_progress: Option<OnProgress>,
        owner: Option<CallOwner>,
    ) -> Watched {
        let mut pending = self.pending.lock();
        let heard_before = pending.heard;
        pending.progress.extend(on_progress.map(|on_progress| (id, on_progress)));
        let call =
            owner.map(|owner| WatchedCall { owner, is_answered: false, is_heard: false, heard_before });
        pending.calls.extend(call.map(|call| (id, call)));
        drop(pending);
        Watched { inbox: self.clone(), id }
    }

    /// Whether all calls that the server may be working on are those of this caller; the empty text stands for the owner.
    pub fn works_only_for(&self, caller: &str) -> bool {
        let pending = self.pending.lock();
        let running = pending.calls.values().map(|call| call.owner.caller());
        let given_up = pending.recently_given_up().map(|call| call.caller.as_ref());
        running.chain(given_up).all(|one| one.map_or("", |one| one) == caller)
    }

    /// The caller whom a message concerns: that of the call on whose stream it came. A message that came on no call's stream
    /// concerns the one caller of all calls that the server may be working on; `None` when there are several, or when that one
    /// has gone.
    fn owner(&self, wanted: Option<u64>) -> Option<CallOwner> {
        let pending = self.pending.lock();
        if let Some(call) = wanted.and_then(|id| pending.calls.get(&id)) {
            return Some(call.owner.clone());
        }
        if wanted.is_some_and(|id| pending.given_up.iter().any(|call| call.id == id)) {
            return None;
        }
        pending.only_owner()
    }

    fn asked_by(&self, wanted: Option<u64>) -> Asked {
        match self.owner(wanted) {
            Some(owner) => owner.ask.map_or(Asked::Owner, Asked::Caller),
            None => Asked::Unclear,
        }
    }

    /// Takes in the bytes of one line or event, for the request `wanted` if they came on its stream.
    ///
    /// `answer` makes the way back for a request of the server.
    pub fn receive(
        self: &Arc<Self>,
        bytes: &[u8],
        wanted: Option<u64>,
        answer: &dyn Fn() -> Option<Answerer>,
    ) -> Received {
        let mut is_settled = false;
        let messages = block_if_large(bytes.len(), || wire::decode(bytes));
        let is_not_mcp = |message: &Result<_, Malformed>| matches!(message, Err(Malformed { id: None, .. }));
        let is_stray = !messages.is_empty() && messages.iter().all(is_not_mcp);
        for message in messages {
            let reply = match message {
                Ok(Incoming::Response { id: Some(id), outcome }) => Some((id, outcome)),
                // An error without an id can only belong to the one request of this exchange.
                Ok(Incoming::Response { id: None, outcome }) => {
                    wanted.filter(|_| outcome.is_err()).zip(Some(outcome))
                }
                Ok(Incoming::Said { id: Some(id), method, .. }) if HANDSHAKE.contains(&method.as_str()) => {
                    id.get().parse().ok().zip(Some(Err(echoed())))
                }
                Err(malformed) => malformed.id.or(wanted).zip(Some(Err(unreadable(malformed.reason)))),
                Ok(Incoming::Said { id: None, method, params }) => {
                    self.notified(&method, params.as_deref(), wanted);
                    None
                }
                Ok(Incoming::Said { id: Some(id), method, params }) => {
                    self.heard(&method, None, wanted);
                    if wanted.is_none() {
                        self.callbacks.asked_without_call(&method);
                    }
                    self.asked((id, method, params), self.asked_by(wanted), answer());
                    None
                }
            };
            if let Some((id, reply)) = reply {
                self.settle(id, reply);
                is_settled |= Some(id) == wanted;
            }
        }
        Received { is_settled, is_stray }
    }

    /// Notes which calls a message may be about. What comes on the stream of a call is about this call; elsewhere it may be about
    /// any, unless it has the `token` of one.
    fn heard(&self, method: &str, token: Option<u64>, wanted: Option<u64>) {
        if wanted.is_none() && is_about_no_call(method) {
            return;
        }
        let mut pending = self.pending.lock();
        match wanted.or(token).and_then(|id| pending.calls.get_mut(&id)) {
            Some(call) => call.is_heard = true,
            None => pending.heard += 1,
        }
    }

    /// Delivers an answer; false when the request is not pending.
    pub fn settle(&self, id: u64, reply: RpcReply) -> bool {
        let waiting = {
            let mut pending = self.pending.lock();
            if let Some(call) = pending.calls.get_mut(&id) {
                call.is_answered = true;
            }
            pending.given_up.retain(|call| call.id != id);
            pending.waiting.remove(&id)
        };
        waiting.is_some_and(|sender| sender.send(reply).is_ok())
    }

    /// Why no further request can be sent, when that is so.
    pub fn retired(&self) -> Option<HubError> {
        self.over.get().cloned()
    }

    /// Refuses all further requests, for the first reason that was given. Those in flight may still be answered.
    pub fn retire(&self, error: HubError) -> &HubError {
        self.over.get_or_init(|| error)
    }

    /// Closes the inbox: pending requests get this error, and so do later ones unless they are refused already.
    pub fn end(&self, error: &HubError) {
        let waiting = {
            // No request can begin to wait between the two. What is asked later was certainly not sent.
            let mut pending = self.pending.lock();
            self.retire(error.clone().with_outcome(Outcome::NotSent));
            std::mem::take(&mut pending.waiting)
        };
        for (_, sender) in waiting {
            let _ = sender.send(Err(error.clone()));
        }
        self.ended.cancel();
    }

    fn notified(&self, method: &str, params: Option<&RawValue>, wanted: Option<u64>) {
        if method == PROGRESS {
            let params = wire::parsed(params);
            let token = params.get("progressToken").and_then(Value::as_u64);
            self.heard(method, token, wanted);
            let on_progress = token.and_then(|id| self.pending.lock().progress.get(&id).cloned());
            if let Some(on_progress) = on_progress {
                on_progress(&params);
            }
            return;
        }
        self.heard(method, None, wanted);
        if method == "notifications/message"
            && let Some(CallOwner { log: Some(log), .. }) = self.owner(wanted)
        {
            self.callbacks.logged(params, &log);
        }
        self.callbacks.notified(method, params);
    }

    fn asked(
        &self,
        (id, method, params): (Box<RawValue>, String, Option<Box<RawValue>>),
        asked: Asked,
        way: Option<Answerer>,
    ) {
        let Some(way) = way else { return };
        if method == "ping" {
            return self.send_ready(way, answer_message(&id, Ok(serde_json::json!({}))));
        }
        let Ok(permit) = self.answers.clone().try_acquire_owned() else {
            let refused = (TRY_LATER, "too many requests at once; try again later".to_owned());
            return self.send_ready(way, answer_message(&id, Err(refused)));
        };
        let callbacks = self.callbacks.clone();
        tokio::spawn(async move {
            let answer = callbacks.answer(&method, wire::parsed(params.as_deref()), asked).await;
            way(answer_message(&id, answer)).await;
            drop(permit);
        });
    }

    fn send_ready(&self, way: Answerer, message: String) {
        let Ok(place) = self.ready.clone().try_acquire_owned() else { return };
        let sending = self.sending.clone();
        tokio::spawn(async move {
            let _turn = sending.acquire().await;
            way(message).await;
            drop(place);
        });
    }
}

const PROGRESS: &str = "notifications/progress";

/// Whether such a message is about the server, or about what it offers.
fn is_about_no_call(method: &str) -> bool {
    method == "ping" || method == "notifications/resources/updated" || method.ends_with("/list_changed")
}

/// A program such as `cat`.
fn echoed() -> HubError {
    let text = message!("the program echoes its input; check that `command` and `args` start an MCP server");
    HubError::new(ErrorKind::Protocol, text)
}

fn answer_message(id: &RawValue, answer: QuestionAnswer) -> String {
    let (member, given) = match answer {
        Ok(result) => ("result", result),
        Err((code, message)) => ("error", serde_json::json!({"code": code, "message": message})),
    };
    serde_json::json!({"jsonrpc": "2.0", "id": wire::parsed(Some(id)), member: given}).to_string()
}

/// A pending request; dropping it abandons the answer.
pub struct PendingReply {
    inbox: Arc<Inbox>,
    id: u64,
    reply: oneshot::Receiver<RpcReply>,
}

impl PendingReply {
    pub async fn answer(mut self) -> RpcReply {
        let gone = || Err(HubError::new(ErrorKind::Closed, "The connection to the server was closed."));
        (&mut self.reply).await.unwrap_or_else(|_| gone())
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        if !self.reply.is_terminated() {
            self.inbox.pending.lock().waiting.remove(&self.id);
        }
    }
}

/// A request whose progress is passed on, and a call whose questions and log messages go to its caller.
pub struct Watched {
    inbox: Arc<Inbox>,
    id: u64,
}

impl Watched {
    /// The server does not work for this caller any more. True if something came before that may be about the call.
    pub fn end(self) -> bool {
        let mut pending = self.inbox.pending.lock();
        let heard = pending.heard;
        pending.calls.get_mut(&self.id).is_some_and(|call| {
            call.is_answered = true;
            call.is_heard || call.heard_before != heard
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut pending = self.inbox.pending.lock();
        pending.progress.remove(&self.id);
        if let Some(call) = pending.calls.remove(&self.id).filter(|call| !call.is_answered) {
            pending.give_up(self.id, &call.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(caller: &str) -> CallOwner {
        let ask = AskCaller::one_by_one(
            Arc::from(caller),
            Arc::new(json!({})),
            Arc::new(|_, _| Box::pin(std::future::ready(Ok(Value::Null)))),
        );
        CallOwner {
            ask: Some(ask),
            log: None,
            principal: Some(Arc::from(caller.split(' ').next().unwrap_or_default())),
        }
    }

    fn asked(inbox: &Inbox, wanted: Option<u64>) -> String {
        match inbox.asked_by(wanted) {
            Asked::Owner => "owner".to_owned(),
            Asked::Caller(caller) => caller.caller.to_string(),
            Asked::Unclear => "unclear".to_owned(),
        }
    }

    #[test]
    fn a_question_of_a_call_that_was_given_up_goes_to_no_other_caller() {
        let inbox = Inbox::new(ServerCallbacks::of_test());
        drop(inbox.watch(1, None, Some(of("ann"))));
        assert_eq!(asked(&inbox, None), "unclear", "its caller has gone");
        let bob = inbox.watch(2, None, Some(of("bob")));
        assert_eq!(asked(&inbox, None), "unclear", "it may belong to the call that was given up");
        assert_eq!(asked(&inbox, Some(1)), "unclear", "it came on the stream of that call");
        assert_eq!(asked(&inbox, Some(2)), "bob");
        // The server has answered the call late, so it works for bob alone.
        assert!(!inbox.settle(1, Err(echoed())));
        assert_eq!(asked(&inbox, None), "bob");
        bob.end();
        assert_eq!(asked(&inbox, None), "owner");
    }

    #[test]
    fn a_caller_is_asked_through_its_latest_call() {
        let inbox = Inbox::new(ServerCallbacks::of_test());
        let logs: Vec<CallLog> =
            (0..50).map(|_| CallLog { level: "info", write: Arc::new(|_| ()) }).collect();
        let calls: Vec<Watched> = logs
            .iter()
            .zip(0..)
            .map(|(log, id)| inbox.watch(id, None, Some(CallOwner { log: Some(log.clone()), ..of("ann") })))
            .collect();
        let asked = inbox.owner(None).and_then(|owner| owner.log).unwrap();
        assert!(Arc::ptr_eq(&asked.write, &logs[49].write));
        drop(calls);
    }

    #[test]
    fn a_call_that_was_given_up_does_not_silence_its_own_principal() {
        let inbox = Inbox::new(ServerCallbacks::of_test());
        drop(inbox.watch(1, None, Some(of("ann desktop"))));
        let next = inbox.watch(2, None, Some(of("ann laptop")));
        assert_eq!(asked(&inbox, None), "ann laptop");
        let _other = inbox.watch(3, None, Some(of("ann desktop")));
        assert_eq!(asked(&inbox, None), "unclear", "two clients have calls in flight");
        drop(next);
        assert_eq!(asked(&inbox, None), "ann desktop");
    }

    #[test]
    fn calls_that_were_given_up_are_remembered_within_bounds() {
        let inbox = Inbox::new(ServerCallbacks::of_test());
        for id in 0..MOST_GIVEN_UP as u64 + 50 {
            drop(inbox.watch(id, None, Some(of("ann"))));
        }
        assert_eq!(inbox.pending.lock().given_up.len(), MOST_GIVEN_UP);
        drop(inbox.watch(9_999, None, Some(CallOwner::default())));
        let own = Inbox::new(ServerCallbacks::of_test());
        drop(own.watch(1, None, Some(CallOwner::default())));
        assert_eq!(asked(&own, None), "owner", "the owner of the hub is there in any case");
    }
}
