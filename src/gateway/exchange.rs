//! One request on its way to its answer, and batches: several messages in one, whose requests run beside each other, each in a
//! task of its own.

use crate::identity::Caller;
use crate::methods::dispatch;
use crate::operate::{HeldMessage, NoRoom, OperationLabels};
use crate::rpc::{
    BATCH_VERSION, BatchEntry, ClientMessage, INTERNAL_ERROR, Outlet, RequestTrace, RpcError, RpcId,
    RpcRequest, TRY_LATER, error_message, result_message, span,
};
use crate::session::RunningRequest;
use crate::{Gateway, era};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::StatusCode;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::principal::Principal;
use toolhub_types::tool::CancelReason;

/// One request on its way to its answer.
#[derive(Clone)]
pub struct Exchange {
    pub gateway: Arc<Gateway>,
    pub caller: Arc<Caller>,
    /// Where progress and questions go.
    pub outlet: Outlet,
    /// Fires when the client has cancelled the request or is gone.
    pub cancel: CancellationToken,
    pub cancel_reason: CancelReason,
    pub trace: RequestTrace,
}

impl Exchange {
    /// A request begins to run. While the entry lives, a client with a session can cancel it by its id.
    pub fn begin(
        (gateway, caller): (&Arc<Gateway>, Arc<Caller>),
        id: &RpcId,
        outlet: Outlet,
        cancel: CancellationToken,
        trace: RequestTrace,
    ) -> Result<(Arc<Self>, Option<RunningRequest>), RpcError> {
        let cancel_reason = CancelReason::default();
        let enter = |session: &Arc<str>| {
            let cancellation = (cancel.clone(), cancel_reason.clone());
            let entry = gateway.sessions.in_flight.enter((session.clone(), id.key()), cancellation);
            entry.ok_or_else(|| {
                let id = clip(id.as_json());
                let text = format!("Invalid Request: the id {id} belongs to a request that is running");
                RpcError::invalid_request(text)
            })
        };
        let entry = caller.session.as_ref().map(enter).transpose()?;
        let gateway = gateway.clone();
        Ok((Arc::new(Exchange { gateway, caller, outlet, cancel, cancel_reason, trace }), entry))
    }

    /// What the caller reads of an error. All of it reaches the only caller of a hub that it sees whole; others get the public face,
    /// and the operator's log the rest.
    pub fn face<'a>(&self, provider: &str, error: &'a HubError) -> Cow<'a, str> {
        let (sees_all, lang) = (self.caller.view.shows_everything(), self.gateway.hub.options.lang);
        // They speak of the caller's own access: how to log in, which header is missing.
        let is_own = matches!(error.kind, ErrorKind::Auth | ErrorKind::NotAllowed);
        if sees_all && (is_own || !self.gateway.identity.authenticator.load().has_several_callers()) {
            return error.message.text(lang);
        }
        let public = error.public();
        if public != error.message {
            let text = format!("for '{}': {}", clip(&self.caller.principal.id), error.message);
            self.gateway.upstreams.log(provider, "info", &text);
        }
        public.text(lang).into_owned().into()
    }
}

const CALL: &str = "tools/call";
const LISTEN: &str = "subscriptions/listen";

/// The answer to a request: the message, and the code if it is an error.
pub struct AnsweredRequest {
    pub message: HeldMessage,
    pub error: Option<i64>,
    /// The message says that there was no room for the answer.
    pub no_room: Option<NoRoom>,
}

/// Runs a request to its end.
pub async fn answer(request: RpcRequest, exchange: &Arc<Exchange>) -> AnsweredRequest {
    let gateway = &exchange.gateway;
    let begun = Instant::now();
    let is_traced = gateway.hub.telemetry.is_on() && request.method != LISTEN;
    let (id, counted) = (request.id.clone(), known_method(&request.method));
    let method = counted.unwrap_or(CALL);
    let span = is_traced.then(|| span::begin(exchange, &request, method)).flatten();
    let dispatched = dispatch(exchange, request).await;
    if let Some(span) = span {
        span::end(span, method, &dispatched);
    }
    let code = dispatched.as_ref().err().map(|error| error.code);
    if let Some(method) = counted {
        let error = code.map(|code| code.to_string()).unwrap_or_default();
        let version = exchange.caller.version;
        let operation = OperationLabels { method, tool: String::new(), error, version };
        gateway.operation.metrics.operation(operation, &exchange.caller.principal.id, begun.elapsed());
    }
    if gateway.options.audit.is_some() {
        Box::pin(gateway.log_written()).await;
    }
    let text = match dispatched {
        Ok(result) => block_if_large(result.len(), || result_message(&id, &result)),
        Err(error) => error_message(Some(&id), &error),
    };
    match gateway.operation.admission.hold(&exchange.caller.principal.id, text.len()) {
        Ok(held) => AnsweredRequest { message: HeldMessage { text, held }, error: code, no_room: None },
        Err(no_room) => {
            drop(text);
            let advice = if no_room == NoRoom::OfCaller { "; read the other answers first" } else { "" };
            let what = no_room.what();
            let text = format!(
                "The request was carried out, but its answer is dropped: too much of {what} held at once{advice}"
            );
            let message = HeldMessage::from(error_message(Some(&id), &RpcError::new(TRY_LATER, text)));
            AnsweredRequest { message, error: Some(TRY_LATER), no_room: Some(no_room) }
        }
    }
}

/// The methods that are counted here; calls of tools are counted with their tool, and streams have no end. Clients choose the
/// names of other methods, so they are counted together.
fn known_method(name: &str) -> Option<&'static str> {
    const COUNTED: [&str; 19] = [
        "initialize",
        "server/discover",
        "ping",
        "logging/setLevel",
        "tools/list",
        "tools/describe",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "tasks/get",
        "tasks/result",
        "tasks/update",
        "tasks/cancel",
        "tasks/list",
    ];
    match name {
        CALL | LISTEN => None,
        name => Some(COUNTED.into_iter().find(|known| *known == name).unwrap_or("_other")),
    }
}

/// The answer to a request that comes while the gateway drains.
pub fn stopping() -> RpcError {
    RpcError::new(TRY_LATER, "The server is stopping; try again later")
}

/// The status that stands for the refusal of a message that has none of its own: on a pipe, or in a batch.
pub fn refusal_status(error: &RpcError) -> StatusCode {
    match error.code {
        TRY_LATER => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The answers to a batch, as they come. A request goes on when this is dropped; its token stops it.
#[derive(Default)]
pub struct BatchAnswers {
    /// By the order of their requests; `None` until it has come, or if there is none.
    come: Vec<Option<HeldMessage>>,
    pub coming: FuturesUnordered<BoxFuture<'static, (usize, Option<HeldMessage>)>>,
}

impl BatchAnswers {
    /// Runs the requests of a batch. `prepared` gives one that counts as running, and whose answer may be none; `notice` takes a
    /// message that gets no answer.
    pub fn of<C, F: Future<Output = Option<HeldMessage>> + Send + 'static>(
        entries: Vec<BatchEntry>,
        (gateway, principal): (&Gateway, &Principal),
        client: &mut C,
        prepared: impl Fn(&mut C, RpcRequest) -> Result<F, RpcError>,
        notice: impl Fn(&mut C, ClientMessage),
    ) -> Self {
        let mut answers = BatchAnswers::default();
        for entry in entries {
            let refused = match entry {
                Ok(ClientMessage::Request(request)) => {
                    let id = request.id.clone();
                    match fits(&request).and_then(|()| prepared(client, request)) {
                        Ok(answer) => {
                            answers.run(id, answer);
                            continue;
                        }
                        Err(error) => (Some(id), error),
                    }
                }
                Ok(message) => {
                    notice(client, message);
                    continue;
                }
                Err(unreadable) => (unreadable.id, unreadable.error),
            };
            gateway.refused(refusal_status(&refused.1), Some(principal));
            answers.come.push(Some(error_message(refused.0.as_ref(), &refused.1).into()));
        }
        answers
    }

    fn run(&mut self, id: RpcId, request: impl Future<Output = Option<HeldMessage>> + Send + 'static) {
        let place = self.come.len();
        self.come.push(None);
        let running = tokio::spawn(request);
        self.coming.push(Box::pin(async move {
            let failed = || error_message(Some(&id), &RpcError::new(INTERNAL_ERROR, "Internal error"));
            (place, running.await.unwrap_or_else(|_| Some(failed().into())))
        }));
    }

    /// Nothing in the batch wants an answer.
    pub fn is_empty(&self) -> bool {
        self.come.is_empty()
    }

    /// Waits for the rest; may be dropped and called again.
    pub async fn completed(&mut self) {
        while let Some((place, answer)) = self.coming.next().await {
            self.come[place] = answer;
        }
    }

    /// Those that have come and were not taken, in the order of the requests.
    pub fn taken(&mut self) -> Vec<HeldMessage> {
        self.come.iter_mut().filter_map(Option::take).collect()
    }

    /// The same as one message, on one line.
    pub fn message(&mut self) -> HeldMessage {
        HeldMessage::join(self.taken(), |texts| format!("[{}]", texts.join(",")))
    }
}

/// Refuses a request that cannot be part of a batch.
fn fits(request: &RpcRequest) -> Result<(), RpcError> {
    if request.method == "initialize" {
        return Err(RpcError::invalid_request("Invalid Request: 'initialize' must not be part of a batch"));
    }
    if era::is_modern(&request.method, request.params.meta()) {
        return Err(RpcError::invalid_request(format!(
            "Invalid Request: a batch holds messages of protocol version {BATCH_VERSION} only"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod answer_tests {
    use super::*;

    fn size<A, B, F: Future>(_: fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_that_listens_is_small() {
        let bytes = size(answer);
        assert!(bytes <= 2_000, "{bytes} bytes for each of thousands of listeners");
    }
}
