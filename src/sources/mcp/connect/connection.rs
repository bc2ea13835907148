//! One live connection to a server: numbered requests, cancellation that reaches the server, the handshake of either era.

use crate::mcp::callbacks::ServerCallbacks;
use crate::mcp::convert::{protocol, wrong_answer};
use crate::mcp::inbox::{CallOwner, Inbox, Watched};
use crate::mcp::message::{ClientIdentity, Params, client_info, notification};
use crate::mcp::proof;
use crate::mcp::protocol::{
    APPS_EXTENSION, APPS_MEDIA_TYPE, Era, LEGACY, MODERN, NegotiatedProtocol, ProtocolHint,
};
use crate::mcp::transport::{OutgoingRequest, SendStage, Transport};
use crate::mcp::wire::{clean, parsed};
use arc_swap::ArcSwapOption;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use toolhub_protocol::{HEADER_MISMATCH, LOG_LEVEL_KEY, MISSING_CAPABILITY, SERVER_KEY, UNSUPPORTED_VERSION};
use toolhub_text::message;
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::telemetry::{
    OpenSpan, SpanAttribute, SpanAttributes, SpanSide, TRACE_PARENT, TRACE_STATE, TraceContext, TraceParent,
    is_tool_error,
};
use toolhub_types::tool::{CallContextExtras, CancelReason, OnProgress, SentFlag};

/// A cancellation or a greeting that a server does not take within this time is not waited for.
const COURTESY: Duration = Duration::from_secs(3);
/// The stream on which a modern server announces changes.
pub const LISTEN: &str = "subscriptions/listen";
/// Errors that only a modern server gives, beside the one about our version.
const MODERN_ERRORS: [i64; 2] = [HEADER_MISMATCH, MISSING_CAPABILITY];

/// How a server describes itself, and the protocol that was negotiated with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerIdentity {
    pub era: Era,
    pub version: &'static str,
    /// The server's own name and version.
    pub info: Value,
    pub capabilities: Value,
    pub instructions: Option<String>,
}

impl ServerIdentity {
    /// From its first answer. One odd member does not lose the others.
    fn read(era: Era, version: &'static str, mut answer: Value) -> Self {
        let mut take = |member: &str| answer.get_mut(member).map(Value::take).unwrap_or_default();
        let info = take("_meta").get_mut(SERVER_KEY).map(Value::take).filter(|info| !info.is_null());
        let info = info.unwrap_or_else(|| take("serverInfo"));
        // Instructions that are not text are none.
        let instructions = take("instructions").as_str().map(str::to_owned);
        ServerIdentity { era, version, info, capabilities: take("capabilities"), instructions }
    }

    /// The version of its program, if it gives one, as people may read it.
    pub fn program_version(&self) -> Option<String> {
        let version = self.info.get("version").and_then(Value::as_str);
        version.map(|version| clip(version).into_owned())
    }

    /// Whether the server announces changes of its `tools`, `resources` or `prompts`.
    pub fn announces_changes_of(&self, what: &str) -> bool {
        self.capabilities.get(what).and_then(|declared| declared.get("listChanged"))
            == Some(&Value::Bool(true))
    }
}

pub struct Connection {
    /// The number of the attempt that led to it.
    pub generation: u64,
    /// Where the next handshake starts.
    pub hint: ProtocolHint,
    pub transport: Arc<dyn Transport>,
    pub inbox: Arc<Inbox>,
    identity: Arc<ClientIdentity>,
    /// The identity of the latest call whose caller can be asked: most callers have the same capabilities.
    asking: ArcSwapOption<ClientIdentity>,
    pub callbacks: Arc<ServerCallbacks>,
    ids: AtomicU64,
    /// An older server is told once what it may ask for.
    callers_answer: bool,
    /// And whether it may ask for roots of the client.
    has_roots: bool,
    /// The server as it described itself.
    pub server: ServerIdentity,
    /// Held by each request that is not answered yet.
    in_flight: Arc<()>,
}

/// What a request carries in addition to its parameters.
#[derive(Default)]
pub struct RequestExtras<'a> {
    pub name: Option<Arc<str>>,
    pub headers: Vec<(String, String)>,
    /// Those of the call that it belongs to.
    pub call: Option<&'a CallContextExtras>,
    /// The flag of the attempt that the request is made for.
    pub sent: Option<Arc<SentFlag>>,
    /// See [`OutgoingRequest::breaks`].
    pub breaks: Option<u64>,
}

impl Connection {
    pub fn new(transport: Arc<dyn Transport>, inbox: Arc<Inbox>, callbacks: &Arc<ServerCallbacks>) -> Self {
        let shared = json!({"extensions": shared_extensions(callbacks)});
        let identity = Arc::new(ClientIdentity::new(callbacks.capabilities(&shared)));
        Connection {
            generation: 0,
            hint: ProtocolHint::Modern,
            transport,
            inbox,
            identity,
            asking: ArcSwapOption::empty(),
            callbacks: callbacks.clone(),
            callers_answer: callbacks.callers_answer(),
            has_roots: false,
            ids: AtomicU64::new(1),
            server: ServerIdentity::read(Era::Modern, MODERN, Value::Null),
            in_flight: Arc::default(),
        }
    }

    pub fn protocol(&self) -> NegotiatedProtocol {
        NegotiatedProtocol { era: self.server.era, version: Some(self.server.version) }
    }

    /// Questions that come on no call's stream may be for this caller until the guard is dropped.
    pub fn watch_caller(&self, owner: CallOwner) -> Watched {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.inbox.watch(id, None, Some(owner))
    }

    /// Sends the level that clients want to see to a legacy server that takes one.
    pub async fn apply_log_level(&self) {
        let takes_one = self.server.era == Era::Legacy && self.server.capabilities.get("logging").is_some();
        let wanted = self.callbacks.host.log_level.to_send();
        let Some(level) = wanted.filter(|_| takes_one) else { return };
        let sent =
            self.request("logging/setLevel", Params::new().with("level", level), RequestExtras::default());
        // A server that refuses it logs as before.
        let _ = timeout(COURTESY, sent).await;
    }

    /// The server was told that nobody answers questions, which has changed: the hub is served now. Servers of the modern
    /// protocol are told with each request.
    pub fn knows_of_no_answers(&self) -> bool {
        let asks_in_vain = !self.callers_answer && self.callbacks.callers_answer();
        let lacks_roots = !self.has_roots && self.callbacks.roots_of().is_some();
        self.server.era == Era::Legacy && (asks_in_vain || lacks_roots)
    }

    /// Tells an older server that the roots of the client have changed.
    pub async fn roots_changed(&self) {
        if self.has_roots {
            let told = self.transport.send(notification("notifications/roots/list_changed", None));
            let _ = timeout(COURTESY, told).await;
        }
    }

    /// Whether a request waits for its answer: a call, a list, the poll of a task. The hub's own subscription to changes does
    /// not count: it would keep every server that announces changes alive.
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.in_flight) > 1
    }

    /// Asks a server whether it speaks the modern protocol. Errors of the way there are errors; whatever a server answers
    /// that is not modern means that it is an older one: `None`.
    pub async fn probe(&self) -> Result<Option<ServerIdentity>> {
        let mut answer = self.discover().await;
        // Some refuse the first request of a version that they know and accept the same request again.
        if answer.as_ref().is_err_and(|error| error.code == Some(UNSUPPORTED_VERSION)) {
            answer = self.discover().await;
        }
        let raw = match answer {
            Ok(raw) => raw,
            Err(error) if error.code.is_some_and(|code| MODERN_ERRORS.contains(&code)) => return Err(error),
            // A modern server that does not know our version may still speak an older one.
            Err(error) if matches!(error.kind, ErrorKind::Rpc | ErrorKind::Protocol) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Only the versions have to be there.
        let found = parsed(Some(&raw));
        let versions = found.get("supportedVersions").and_then(Value::as_array);
        if !versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN)) {
            return Ok(None);
        }
        Ok(Some(ServerIdentity::read(Era::Modern, MODERN, found)))
    }

    async fn discover(&self) -> Result<Box<RawValue>> {
        self.request("server/discover", Params::new(), RequestExtras::default()).await
    }

    /// The handshake of the older protocol.
    pub async fn initialize(&mut self) -> Result<()> {
        self.server.era = Era::Legacy;
        // Which caller will have to answer is not known yet. Roots belong to one client, and a session to all of them, unless
        // there is one client only.
        let extensions = shared_extensions(&self.callbacks);
        let mut asked =
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "extensions": extensions});
        if let Some(client) = self.callbacks.roots_of() {
            asked["roots"] = client.capabilities["roots"].clone();
            self.has_roots = true;
        }
        let asked = if self.callers_answer { asked } else { Value::Null };
        let params = Params::new()
            .with("protocolVersion", &LEGACY[0])
            .with("capabilities", &self.callbacks.capabilities(&asked))
            .with("clientInfo", &client_info());
        let answer = self.request("initialize", params, RequestExtras::default()).await;
        // What is asked after a refusal is asked in the modern way again.
        let raw = answer.inspect_err(|_| self.server.era = Era::Modern)?;
        let greeting: Value =
            serde_json::from_str(raw.get()).map_err(|error| wrong_answer("initialize", error.to_string()))?;
        let Some(offered) = greeting["protocolVersion"].as_str() else {
            return Err(protocol(message!("initialize: protocolVersion is missing")));
        };
        let Some(version) = LEGACY.iter().find(|version| **version == offered) else {
            let text = message!(
                "no common protocol version: the server speaks '{}', we speak {}",
                clean(offered, 40),
                format!("{MODERN} and {}", LEGACY.join(", "))
            );
            return Err(HubError::new(ErrorKind::Protocol, text));
        };
        self.settle_on(ServerIdentity::read(Era::Legacy, version, greeting));
        let greeted = self.transport.send(notification("notifications/initialized", None));
        // A server that does not react to this notification is none the less there.
        let _ = timeout(Duration::from_secs(1), greeted).await;
        Ok(())
    }

    pub fn settle_on(&mut self, server: ServerIdentity) {
        self.transport.on_negotiated(server.era, server.version);
        self.server = server;
    }

    /// Sends a request and waits for its raw result. When the caller gives up after it was sent, the server is notified.
    pub async fn request(
        &self,
        method: &'static str,
        params: Params,
        RequestExtras { name, headers, call, sent, breaks }: RequestExtras<'_>,
    ) -> Result<Box<RawValue>> {
        let _in_flight = (method != LISTEN).then(|| self.in_flight.clone());
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut meta = call.map(|call| call.meta.clone()).unwrap_or_default();
        let on_progress = call.and_then(|call| call.progress.clone()).map(|on_progress| -> OnProgress {
            meta.insert("progressToken".into(), json!(id));
            let secrets = self.callbacks.secrets.clone();
            Arc::new(move |progress: &Value| on_progress(&secrets.hide_json(progress.clone())))
        });
        let is_modern = self.server.era == Era::Modern;
        if let Some(log) = call.and_then(|call| call.log.as_ref()).filter(|_| is_modern) {
            meta.insert(LOG_LEVEL_KEY.into(), json!(log.level));
        }
        let span = match method {
            // A standing stream is not an operation that ends.
            LISTEN => None,
            method => begin_span(self, id, method, name.as_deref(), &mut meta),
        };
        let trace = span.as_ref().and_then(|span| span.context()).map(TraceContext::written);
        let ask = call.and_then(|call| call.ask.as_ref());
        let asking = ask.filter(|_| is_modern).map(|ask| self.identity_for(&ask.capabilities));
        let is_call = method == "tools/call" || ask.is_some();
        let owner = is_call.then(|| call.map(CallOwner::of).unwrap_or_default());
        let watched = (is_call || on_progress.is_some()).then(|| self.inbox.watch(id, on_progress, owner));
        let identity = asking.as_ref().unwrap_or(&self.identity);
        let body = identity.request(self.server.era, id, method, params, &meta);
        let stage = Arc::new(SendStage::of_attempt(sent));
        let request = OutgoingRequest { id, method, name, headers, trace, body, stage, breaks };
        // Only requests that the server may be working on; a handshake must not be cancelled.
        let may_cancel = method != "initialize" && method != "server/discover";
        let transport = may_cancel.then_some(&self.transport);
        let reason = call.map(|call| &call.cancel_reason);
        let mut guard = CancelGuard { transport, request: &request, reason };
        let reply = self.transport.request(&request).await;
        guard.transport = None;
        drop(guard);
        let is_heard = watched.is_some_and(Watched::end);
        if let Some(span) = span {
            end_span(span, method, &reply);
        }
        match reply {
            Ok(described) if is_description(method) => {
                Ok(self.callbacks.secrets.hide_in_description(described))
            }
            reply => reply.map_err(|error| {
                self.callbacks.secrets.hide_error(proof::of_request(error, &request.stage, is_heard))
            }),
        }
    }

    /// Our identity in a request whose caller has these capabilities.
    fn identity_for(&self, caller: &Value) -> Arc<ClientIdentity> {
        let capabilities = self.callbacks.capabilities(caller);
        if capabilities == self.identity.capabilities {
            return self.identity.clone();
        }
        let latest = self.asking.load_full().filter(|latest| latest.capabilities == capabilities);
        latest.unwrap_or_else(|| {
            let made = Arc::new(ClientIdentity::new(capabilities));
            self.asking.store(Some(made.clone()));
            made
        })
    }

    /// Why no further request can be sent, when that is so.
    pub fn retired(&self) -> Option<HubError> {
        self.transport.retired().map(|error| self.callbacks.secrets.hide_error(error))
    }
}

/// The extensions of clients that a server hears of when it is not known which client it works for: lists and older sessions
/// are shared. Tools with an interface have a text for clients that cannot show it.
fn shared_extensions(callbacks: &ServerCallbacks) -> Value {
    match callbacks.callers_answer() {
        true => json!({APPS_EXTENSION: {"mimeTypes": [APPS_MEDIA_TYPE]}}),
        false => json!({}),
    }
}

/// Sends what nobody waits for, as long as there is a runtime.
pub fn send_in_passing<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(timeout(COURTESY, work));
    }
}

/// The characters of a reason that servers get.
const LONGEST_REASON: usize = 500;

/// Withdraws a request that is over before it left, and tells the server when one is given up.
struct CancelGuard<'a> {
    /// `None`: it was answered, or cannot be cancelled.
    transport: Option<&'a Arc<dyn Transport>>,
    request: &'a OutgoingRequest,
    reason: Option<&'a CancelReason>,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        self.request.stage.withdraw();
        let is_open = |transport: &&Arc<dyn Transport>| {
            self.request.stage.may_have_left()
                && !transport.cancels_by_drop()
                && transport.retired().is_none()
        };
        let Some(transport) = self.transport.filter(is_open).cloned() else { return };
        let given = self.reason.and_then(|reason| reason.get()).map(|reason| clean(reason, LONGEST_REASON));
        let reason = given.as_deref().unwrap_or("the caller does not wait any more");
        let message = notification(
            "notifications/cancelled",
            Some(json!({"requestId": self.request.id, "reason": reason})),
        );
        send_in_passing(async move { transport.send(message).await });
    }
}

/// Whether the answer describes the server or what it offers, and is kept and shown. Results belong to the caller.
fn is_description(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover") || method.ends_with("/list")
}

// The span of a request to a server: it begins when the request is written, and its context goes with it.

/// Begins the span of a request, and writes its context into `_meta`. `None` if telemetry is off.
pub fn begin_span(
    connection: &Connection,
    id: u64,
    method: &'static str,
    target: Option<&str>,
    meta: &mut Map<String, Value>,
) -> Option<Box<OpenSpan>> {
    let callbacks = &connection.callbacks;
    let parent = || TraceParent::in_meta(meta);
    let mut span = callbacks.host.telemetry.begin(SpanSide::Client, method, parent)?;
    if let Some(context) = span.context() {
        let given = meta.insert(TRACE_PARENT.to_owned(), Value::String(context.written()));
        // The state of a parent that cannot be read belongs to no span.
        if TraceParent::of(given.as_ref().and_then(Value::as_str), None).context.is_none() {
            meta.remove(TRACE_STATE);
        }
    }
    if let Some(target) = target {
        span.set_target(method, &callbacks.secrets.hide(target.to_owned()));
    }
    span.set(SpanAttribute::RequestId, id.to_string());
    span.set(SpanAttribute::Server, &*callbacks.server);
    // Before the answer, the version that is asked for.
    let version = if method == "initialize" { LEGACY[0] } else { connection.server.version };
    for (attribute, value) in place(connection, version) {
        span.set(attribute, value);
    }
    Some(span)
}

/// Ends the span of a request that was answered, or could not be.
pub fn end_span(mut span: Box<OpenSpan>, method: &str, reply: &Result<Box<RawValue>>) {
    match reply {
        Ok(result) if method == "tools/call" => {
            let result = result.get();
            if block_if_large(result.len(), || is_tool_error(result)) {
                span.fail(None, "tool_error");
            }
        }
        Ok(_) => {}
        Err(error) => span.fail(error.code, error.kind.name()),
    }
    span.end();
}

/// Where the server is, and the version that is spoken with it.
pub fn place(connection: &Connection, version: &str) -> SpanAttributes {
    let mut attributes = connection.transport.place();
    attributes.push((SpanAttribute::ProtocolVersion, version.into()));
    attributes
}
