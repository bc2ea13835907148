//! The stdio endpoint: one message a line, one client. Its client also serves other transports on which a client has one stream.

use crate::Gateway;
use crate::era::{self, ClientInfo};
use crate::exchange::BatchAnswers;
use crate::exchange::{Exchange, answer, refusal_status, stopping};
use crate::http::RequestOrigin;
use crate::identity::Caller;
use crate::operate::HeldMessage;
use crate::rpc::{
    BatchEntry, ClientMessage, ClientPayload, Outlet, RequestTrace, RpcError, RpcId, RpcRequest,
    UnreadableMessage, error_message, notification_message, read_payload, takes_batches,
};
use crate::session::ClientChanges;
use futures_util::stream::{Stream, StreamExt, unfold};
use serde_json::Value;
use std::any::Any;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::Era;
use toolhub_protocol::lines::{Line, Lines};
use toolhub_types::blocking::block_if_large;
use toolhub_types::tool::{AskCaller, AskFunction};

mod process;

pub use process::serve_process_stdio;

/// How many answers may wait for a slow client.
const MOST_WAITING: usize = 256;
/// What runs when the client closes its end may finish within this time; then it is cancelled.
const LINE_BUFFER: usize = 64 * 1024;
const GRACE: Duration = Duration::from_millis(500);
static NEXT_PIPE: AtomicU64 = AtomicU64::new(0);

/// What a request holds while it is worked on.
pub type BoxedPermit = Box<dyn Any + Send>;

/// A message or batch of a client that has one stream, and the place that it holds while it is worked on.
pub type ClientInput = (Result<ClientPayload, UnreadableMessage>, Option<BoxedPermit>);

/// What the client sends, one message a line.
fn read_lines(reader: impl AsyncRead + Unpin + Send, limit: usize) -> impl Stream<Item = ClientInput> + Send {
    let state = (reader, Lines::new(limit), vec![0; LINE_BUFFER], VecDeque::new(), false);
    unfold(state, |(mut reader, mut lines, mut buffer, mut read, mut is_over)| async move {
        while read.is_empty() && !is_over {
            let count = reader.read(&mut buffer).await.ok()?;
            is_over = count == 0;
            let take = |line: Line<'_>| read.extend(read_line(line).map(|payload| (payload, None)));
            match is_over {
                // The last message may have no line end.
                true => lines.end(take),
                false => lines.feed(&buffer[..count], take),
            }
        }
        Some((read.pop_front()?, (reader, lines, buffer, read, is_over)))
    })
}

/// A line as a message; an empty one is none.
fn read_line(line: Line<'_>) -> Option<Result<ClientPayload, UnreadableMessage>> {
    match line {
        Line::Whole(line) => {
            (!line.trim_ascii().is_empty()).then(|| block_if_large(line.len(), || read_payload(line)))
        }
        Line::TooLong(_) => {
            let error = RpcError::invalid_request("Message exceeds the size limit");
            Some(Err(UnreadableMessage { id: None, error }))
        }
        Line::Skipped(_) => None,
    }
}

/// Serves one client until it closes its end or the gateway stops; `gone` fires when the client does not read any more, which a
/// writer with a buffer learns late.
pub async fn serve_stdio(
    gateway: Arc<Gateway>,
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    gone: CancellationToken,
) {
    let (output, messages) = mpsc::channel(MOST_WAITING);
    let over = CancellationToken::new();
    let written = write_all(writer, messages, over.clone());
    let writing = tokio::spawn(async move { gone.run_until_cancelled(written).await });
    let origin = RequestOrigin {
        principal: gateway.identity.anonymous.clone(),
        view: gateway.identity.views.load().standard.clone(),
    };
    let messages = pin!(read_lines(reader, gateway.options.max_body));
    serve_client(gateway, origin, messages, output, true).await;
    // A tool may keep its call, and thereby a way to the client, for longer than the call runs.
    over.cancel();
    let _ = writing.await;
}

/// Serves a client that sends one stream of messages and gets one, until either ends or the gateway stops. `is_alone`: the
/// gateway has no other client.
pub async fn serve_client(
    gateway: Arc<Gateway>,
    origin: RequestOrigin,
    mut messages: impl Stream<Item = ClientInput> + Unpin + Send,
    output: mpsc::Sender<HeldMessage>,
    is_alone: bool,
) {
    let mut client = StdioClient {
        is_alone,
        origin,
        pipe: Arc::from(format!("pipe {}", NEXT_PIPE.fetch_add(1, Ordering::Relaxed))),
        initialized: None,
        has_welcome: CancellationToken::new(),
        output,
        running: JoinSet::new(),
        gateway,
    };
    let (gateway, mut view) = (client.gateway.clone(), client.origin.view.clone());
    let who = (&*view, &*client.origin.principal);
    let mut changes = ClientChanges::of_session(&gateway, who, Some(&client.pipe));
    loop {
        let (payload, place) = tokio::select! {
            () = gateway.operation.closing.cancelled() => break,
            // The client does not read any more.
            () = client.output.closed() => break,
            Some(_) = client.running.join_next() => continue,
            (method, params) = changes.next(&gateway.hub, &view), if client.has_welcome.is_cancelled() => {
                client.send(notification_message(method, &params)).await;
                continue;
            }
            input = messages.next() => match input {
                Some(input) => input,
                None => break,
            },
        };
        if let Some(now) = gateway.identity.views.load().renewed(&view) {
            (view, client.origin.view) = (now.clone(), now);
        }
        client.receive(payload, place).await;
    }
    client.close().await;
}

/// Writes messages until there are no more senders, or until it is over and what was sent before that is written.
async fn write_all(
    mut writer: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<HeldMessage>,
    over: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            () = over.cancelled(), if !messages.is_closed() => {
                messages.close();
                continue;
            }
        };
        let Some(mut message) = message else { return };
        message.text.push('\n');
        if writer.write_all(message.as_ref()).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

struct StdioClient {
    is_alone: bool,
    gateway: Arc<Gateway>,
    origin: RequestOrigin,
    /// Tells this client from those of other pipes.
    pipe: Arc<str>,
    /// What a legacy client has said of itself.
    initialized: Option<ClientInfo>,
    /// Fires when it has the answer to `initialize`: from then on it takes notifications, and can be asked.
    has_welcome: CancellationToken,
    output: mpsc::Sender<HeldMessage>,
    running: JoinSet<()>,
}

impl StdioClient {
    async fn send(&self, message: String) {
        // A client that does not read any more ends the loop.
        let _ = self.output.send(message.into()).await;
    }

    /// Answers a message that no method has read, and writes that down.
    async fn refuse(&self, id: Option<&RpcId>, error: &RpcError) {
        self.gateway.refused(refusal_status(error), Some(&self.origin.principal));
        self.send(error_message(id, error)).await;
    }

    async fn receive(
        &mut self,
        payload: Result<ClientPayload, UnreadableMessage>,
        place: Option<BoxedPermit>,
    ) {
        match payload {
            Ok(ClientPayload::One(ClientMessage::Request(request))) => {
                let id = request.id.clone();
                if let Err(error) = self.start(request, place) {
                    self.refuse(Some(&id), &error).await;
                }
            }
            Ok(ClientPayload::One(message)) => self.notice(message),
            Ok(ClientPayload::Batch(entries)) => {
                match takes_batches(self.initialized.as_ref().map(|client| client.version)) {
                    Ok(()) => self.start_batch(entries, place),
                    Err(error) => self.refuse(None, &error).await,
                }
            }
            Err(refused) => self.refuse(refused.id.as_ref(), &refused.error).await,
        }
    }

    /// Takes a message that gets no answer.
    fn notice(&mut self, message: ClientMessage) {
        match &message {
            ClientMessage::Notification { method, .. } if method == "notifications/initialized" => {
                self.has_welcome.cancel();
            }
            ClientMessage::Notification { method, .. }
                if method == "notifications/roots/list_changed" && self.is_alone =>
            {
                let gateway = self.gateway.clone();
                self.running.spawn(async move { gateway.upstreams.roots_changed().await });
            }
            _ => self.gateway.notice(&self.unknown(), message),
        }
    }

    /// Runs a request beside the others.
    fn start(&mut self, request: RpcRequest, place: Option<BoxedPermit>) -> Result<(), RpcError> {
        let (answer, output) = (self.prepared(request)?, self.output.clone());
        self.running.spawn(async move {
            if let Some(answer) = answer.await {
                let _ = output.send(answer).await;
            }
            drop(place);
        });
        Ok(())
    }

    /// Runs the requests of a batch beside each other, and answers them together.
    fn start_batch(&mut self, entries: Vec<BatchEntry>, place: Option<BoxedPermit>) {
        let (gateway, principal) = (self.gateway.clone(), self.origin.principal.clone());
        let client = (&*gateway, &*principal);
        let mut answers = BatchAnswers::of(entries, client, self, Self::prepared, Self::notice);
        let output = self.output.clone();
        self.running.spawn(async move {
            answers.completed().await;
            if !answers.is_empty() {
                let _ = output.send(answers.message()).await;
            }
            drop(place);
        });
    }

    /// A request that counts as running. `None`: it gets no answer, because its client has cancelled it.
    fn prepared(
        &mut self,
        request: RpcRequest,
    ) -> Result<impl Future<Output = Option<HeldMessage>> + Send + use<>, RpcError> {
        let caller = self.caller(&request)?;
        let running = self.gateway.enter(&request).ok_or_else(stopping)?;
        // A long-lived stream does not keep the gateway from stopping.
        let running = (request.method != "subscriptions/listen").then_some(running);
        let cancel = self.gateway.operation.cancel_running.child_token();
        let (client, outlet) = ((&self.gateway, Arc::new(caller)), Outlet::of(self.output.clone()));
        let (exchange, entry) =
            Exchange::begin(client, &request.id, outlet, cancel, RequestTrace::default())?;
        Ok(async move {
            let answered = answer(request, &exchange).await;
            drop((entry, running));
            let is_cancelled =
                exchange.cancel.is_cancelled() && !exchange.gateway.operation.cancel_running.is_cancelled();
            (!is_cancelled).then_some(answered.message)
        })
    }

    /// A client that has not said what it is.
    fn unknown(&self) -> Caller {
        self.of(Era::Legacy, ClientInfo::unknown(era::WITHOUT_HEADER))
    }

    /// Servers may ask the only client of the gateway for its roots at any time, not only during a call.
    fn share_roots(&self, capabilities: &Arc<Value>) {
        if !self.is_alone || !capabilities["roots"].is_object() {
            return;
        }
        let (questions, asker) = (self.gateway.kept.questions.clone(), self.unknown().client_key());
        let (outlet, has_welcome) = (Outlet::of(self.output.clone()), self.has_welcome.clone());
        let ask: AskFunction = Arc::new({
            let asker = asker.clone();
            move |method: &str, params: Value| {
                let asked = questions.clone().ask(outlet.clone(), asker.clone(), method.to_owned(), params);
                let has_welcome = has_welcome.clone();
                Box::pin(async move {
                    has_welcome.cancelled().await;
                    asked.await
                })
            }
        });
        let client = AskCaller::one_by_one(asker, capabilities.clone(), ask);
        self.gateway.upstreams.set_only_client(Some(client));
    }

    fn of(&self, era: Era, info: ClientInfo) -> Caller {
        let caller = self.origin.caller(era, info);
        Caller { session: Some(self.pipe.clone()), has_one_stream: true, ..caller }
    }

    fn caller(&mut self, request: &RpcRequest) -> Result<Caller, RpcError> {
        let meta = request.params.meta();
        if era::is_modern(&request.method, meta) {
            return Ok(self.of(Era::Modern, era::envelope(meta)?));
        }
        if request.method == "initialize" {
            let client = era::initialize(&request.params)?;
            let caller = self.of(Era::Legacy, client.clone());
            self.share_roots(&client.capabilities);
            self.initialized = Some(client);
            return Ok(caller);
        }
        // A client that forgot to say so.
        if self.initialized.is_some() && request.method != "ping" {
            self.has_welcome.cancel();
        }
        match &self.initialized {
            Some(client) => Ok(self.of(Era::Legacy, client.clone())),
            None if request.method == "ping" => Ok(self.unknown()),
            None => Err(RpcError::invalid_request(
                "Invalid Request: send 'initialize' first, or name the protocol version in '_meta'",
            )),
        }
    }

    async fn close(mut self) {
        let all_done = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, all_done).await.is_err() {
            self.gateway.sessions.in_flight.cancel_session(&self.pipe);
            while self.running.join_next().await.is_some() {}
        }
        if self.is_alone {
            self.gateway.upstreams.set_only_client(None);
        }
        self.gateway.forget_session(&self.origin.principal.id, &self.pipe);
    }
}
