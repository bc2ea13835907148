//! Batches: several messages in one. Their requests run beside each other, each in a task of its own.
//!
//! On HTTP the answers come together as an array of JSON. If something has to be sent before that, they become events,
//! one for each answer as soon as it is there. Before the first request starts, each has its place (429 for all of them, 413 if
//! there never are so many), which is free again when that request ends.

use crate::answer::{answer, in_use, refusal_status};
use crate::era::modern;
use crate::exchange::Exchange;
use crate::http::accept::Accepted;
use crate::http::admit::{Admitted, RequestPermit};
use crate::http::identify::bad_request;
use crate::http::reply::HttpReply;
use crate::http::sse_stream::AnswerStream;
use crate::identity::caller::Caller;
use crate::operate::held_bytes::HeldMessage;
use crate::rpc::outlet::Outlet;
use crate::rpc::payload::{BATCH_VERSION, ClientPayload, agreed_version, batch_message, lost, takes_batches};
use crate::rpc::trace::RequestTrace;
use crate::rpc::{ClientMessage, RpcError, RpcId, RpcRequest, error_message};
use crate::session::in_flight::{in_flight_key, notified_in_session};
use crate::state::Gateway;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{HeaderMap, StatusCode};
use std::collections::VecDeque;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_types::principal::Principal;
use toolhub_types::tool::CancelReason;

/// The answers to a batch, as they come. A request goes on when this is dropped; its token stops it.
pub struct BatchAnswers {
    gateway: Arc<Gateway>,
    principal: Arc<Principal>,
    /// By the order of their requests; `None` until it has come, or if there is none.
    come: Vec<Option<HeldMessage>>,
    coming: FuturesUnordered<BoxFuture<'static, (usize, Option<HeldMessage>)>>,
}

impl BatchAnswers {
    pub fn new(gateway: &Arc<Gateway>, principal: &Arc<Principal>) -> Self {
        let (gateway, principal) = (gateway.clone(), principal.clone());
        BatchAnswers { gateway, principal, come: Vec::new(), coming: FuturesUnordered::new() }
    }

    /// Runs a request. `None`: it gets no answer.
    pub fn run(&mut self, id: RpcId, request: impl Future<Output = Option<HeldMessage>> + Send + 'static) {
        let place = self.come.len();
        self.come.push(None);
        let running = tokio::spawn(request);
        let answered = async move { (place, running.await.unwrap_or_else(|_| Some(lost(&id).into()))) };
        self.coming.push(Box::pin(answered));
    }

    /// A message that is answered with an error.
    pub fn refuse(&mut self, id: Option<&RpcId>, error: &RpcError) {
        self.gateway.refused(refusal_status(error), Some(&self.principal));
        self.come.push(Some(error_message(id, error).into()));
    }

    /// Nothing in the batch wants an answer.
    fn is_empty(&self) -> bool {
        self.come.is_empty()
    }

    /// Waits for the rest; may be dropped and called again.
    async fn completed(&mut self) {
        while let Some((place, answer)) = self.coming.next().await {
            self.come[place] = answer;
        }
    }

    /// Those that have come and were not taken.
    fn taken(&mut self) -> Vec<HeldMessage> {
        self.come.iter_mut().filter_map(Option::take).collect()
    }

    /// All answers, in the order of the requests.
    pub async fn all(mut self) -> Vec<HeldMessage> {
        self.completed().await;
        self.taken()
    }
}

/// Refuses a request that cannot be part of a batch.
pub fn fits_in_batch(request: &RpcRequest) -> Result<(), RpcError> {
    if request.method == "initialize" {
        return Err(RpcError::invalid_request("Invalid Request: 'initialize' must not be part of a batch"));
    }
    if modern::is_modern(&request.method, request.params.meta()) {
        return Err(RpcError::invalid_request(format!(
            "Invalid Request: a batch holds messages of protocol version {BATCH_VERSION} only"
        )));
    }
    Ok(())
}

/// Answers a batch on HTTP.
pub async fn post_batch(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    headers: &HeaderMap,
    accepted: Accepted,
    batch: ClientPayload,
) -> Result<HttpReply, HttpReply> {
    let caller = Arc::new(admitted.origin.of_session(gateway, headers, None)?);
    takes_batches(agreed_version(&caller)).map_err(|error| bad_request(None, &error))?;
    let requests = batch.requests();
    let admitted = if requests > 0 { admitted.not_draining()? } else { admitted };
    let places = admitted.place.for_requests(gateway, &caller.principal, requests)?;
    let cancel = gateway.operation.cancel_running.child_token();
    let (outlet, messages) = Outlet::open();
    let answers = HttpBatch { gateway, caller, outlet, cancel: &cancel, places }.start(batch);
    if answers.is_empty() {
        return Ok(HttpReply::empty(StatusCode::ACCEPTED));
    }
    let guard = cancel.drop_guard();
    Ok(respond(answers, messages, accepted, gateway.options.keep_alive, guard).await)
}

/// A batch whose requests are about to run.
struct HttpBatch<'a> {
    gateway: &'a Arc<Gateway>,
    caller: Arc<Caller>,
    outlet: Outlet,
    cancel: &'a CancellationToken,
    /// One for each request that has not started.
    places: Vec<RequestPermit>,
}

impl HttpBatch<'_> {
    fn start(mut self, batch: ClientPayload) -> BatchAnswers {
        let mut answers = BatchAnswers::new(self.gateway, &self.caller.principal);
        let ClientPayload::Batch(entries) = batch else { return answers };
        for entry in entries {
            match entry {
                Ok(ClientMessage::Request(request)) => {
                    let id = request.id.clone();
                    match self.prepared(request) {
                        Ok(answer) => answers.run(id, answer),
                        Err(error) => answers.refuse(Some(&id), &error),
                    }
                }
                Ok(ClientMessage::Notification { method, params }) => {
                    notified_in_session(self.gateway, &self.caller, &method, &params);
                }
                Ok(ClientMessage::Response { id, outcome }) => {
                    self.gateway.kept.questions.answer(&self.caller.client_key(), &id, outcome);
                }
                Err(refused) => answers.refuse(refused.id.as_ref(), &refused.error),
            }
        }
        answers
    }

    fn prepared(
        &mut self,
        request: RpcRequest,
    ) -> Result<impl Future<Output = Option<HeldMessage>> + Send + use<>, RpcError> {
        let place = self.places.pop();
        fits_in_batch(&request)?;
        let session = self.caller.session.as_deref().unwrap_or_default();
        let (cancel, cancel_reason) = (self.cancel.child_token(), CancelReason::default());
        let key = in_flight_key(session, &request.id.key());
        let entry = self
            .gateway
            .sessions
            .in_flight
            .enter(key, cancel.clone(), cancel_reason.clone())
            .ok_or_else(|| in_use(&request.id))?;
        let (caller, outlet, trace) = (self.caller.clone(), self.outlet.clone(), RequestTrace::of_batch());
        let gateway = self.gateway.clone();
        let exchange = Arc::new(Exchange { gateway, caller, outlet, cancel, cancel_reason, trace });
        Ok(async move {
            let answered = answer(request, &exchange).await;
            drop((entry, place));
            Some(answered.message)
        })
    }
}

async fn respond(
    mut answers: BatchAnswers,
    mut messages: mpsc::Receiver<HeldMessage>,
    accepted: Accepted,
    keep_alive: Duration,
    guard: DropGuard,
) -> HttpReply {
    if !accepted.events {
        messages.close();
        answers.completed().await;
        return HttpReply::json(StatusCode::OK, batch_message(answers.taken()));
    }
    let mut first = VecDeque::new();
    if accepted.json {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => first.push_back(message),
            () = answers.completed() => {}
            () = tokio::time::sleep(keep_alive) => {}
        }
    }
    // What was said before an answer stays before it.
    while let Ok(message) = messages.try_recv() {
        first.push_back(message);
    }
    if accepted.json && first.is_empty() && answers.coming.is_empty() {
        return HttpReply::json(StatusCode::OK, batch_message(answers.taken()));
    }
    first.extend(answers.taken());
    let answers = answers.coming.filter_map(|(_, answer)| ready(answer));
    HttpReply::events(AnswerStream { first, messages, answers, keep_alive, _guard: guard }.events())
}
