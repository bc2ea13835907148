//! One request on its way to its answer.

use crate::Gateway;
use crate::identity::Caller;
use crate::methods::dispatch;
use crate::operate::{HeldMessage, NoRoom, OperationLabels};
use crate::rpc::{
    Outlet, RequestTrace, RpcError, RpcId, RpcRequest, TRY_LATER, error_message, result_message, span,
};
use crate::session::RunningRequest;
use http::StatusCode;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::Era;
use toolhub_types::aside::heavy;
use toolhub_types::error::{ErrorKind, HubError, clip};
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

    pub fn is_modern(&self) -> bool {
        self.caller.era == Era::Modern
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

fn no_room_for_answer(no_room: NoRoom) -> RpcError {
    let advice = if no_room == NoRoom::OfCaller { "; read the other answers first" } else { "" };
    let what = no_room.what();
    let text = format!(
        "The request was carried out, but its answer is dropped: too much of {what} held at once{advice}"
    );
    RpcError::new(TRY_LATER, text)
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
    let message = match dispatched {
        Ok(result) => heavy(result.len(), || result_message(&id, &result)),
        Err(error) => error_message(Some(&id), &error),
    };
    match gateway.operation.admission.hold(&exchange.caller.principal.id, message.len()) {
        Ok(held) => AnsweredRequest { message: HeldMessage::new(message, held), error: code, no_room: None },
        Err(no_room) => {
            drop(message);
            let refusal = no_room_for_answer(no_room);
            let message = HeldMessage::from(error_message(Some(&id), &refusal));
            AnsweredRequest { message, error: Some(refusal.code), no_room: Some(no_room) }
        }
    }
}

/// The methods that are counted here; calls of tools are counted with their tool, and streams have no end. Clients choose the
/// names of other methods, so they are counted together.
fn known_method(name: &str) -> Option<&'static str> {
    const COUNTED: [&str; 17] = [
        "initialize",
        "server/discover",
        "ping",
        "logging/setLevel",
        "tools/list",
        "tools/describe",
        "resources/list",
        "resources/templates/list",
        "resources/read",
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
