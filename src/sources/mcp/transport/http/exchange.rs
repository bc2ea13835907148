//! One request to the server and back: post it, read the answer or follow the stream that brings it.

use super::body::{self, EVENTS, Events, is_message, is_of_type};
use super::client::{HttpResponse, OutgoingBody};
use super::endpoint::HttpEndpoint;
use super::protocol_headers::{HANDSHAKE, ProtocolHeaders};
use super::{HttpShared, SEND_TIME};
use crate::mcp::convert::unreadable;
use crate::mcp::message::{ping, ping_id};
use crate::mcp::proof;
use crate::mcp::transport::OutgoingRequest;
use crate::mcp::wire::{self, Incoming};
use reqwest::Method;
use serde_json::value::RawValue;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::METHOD_NOT_FOUND;
use toolhub_protocol::net::{Backoff, retry_after};
use toolhub_protocol::sse::SseParser;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result};

/// How often a broken stream is requested without success before its request fails.
const RESUME_ATTEMPTS: usize = 3;

impl HttpShared {
    pub async fn request(self: &Arc<Self>, request: &OutgoingRequest) -> Result<Box<RawValue>> {
        // The answer may come on another stream than its own, and closing ends the wait here.
        let expected = self.inbox.await_answer(request.id)?;
        let mut answer = pin!(expected.answer());
        let mut post = pin!(async {
            match self.is_sse {
                true => self.post_for_stream(request).await,
                false => self.carry(request).await,
            }
        });
        let reply = tokio::select! {
            biased;
            reply = &mut answer => reply,
            posted = &mut post => {
                posted?;
                return answer.await;
            }
        };
        match reply {
            Err(error) if self.is_sse && error.nothing_happened => {
                let posted = tokio::time::timeout(SEND_TIME, post).await;
                Err(proof::of_two_streams(error, matches!(posted, Ok(Ok(())))))
            }
            reply => reply,
        }
    }

    /// Posts a request, and reads what comes back until the inbox has the answer.
    async fn carry(self: &Arc<Self>, request: &OutgoingRequest) -> Result<()> {
        let (remote, protocol_headers) = (&self.remote, self.protocol_headers.load_full());
        let breaks = request.breaks.filter(|_| protocol_headers.session().is_none());
        let body = OutgoingBody::of_request(&request.body, &request.stage)
            .unless_interrupted(&remote.client.open, breaks);
        let headers = || protocol_headers.of_request(request);
        let mut response = remote.ask(Method::POST, &remote.url, headers, body).await?;
        if !matches!(response.status.as_u16(), 200 | 201 | 203) {
            let refusal = read_refusal(remote, response, Some(request.id)).await;
            // It may be that our session is gone.
            return Err(match protocol_headers.session() {
                Some(_) if !protocol_headers.is_modern(request.method) => {
                    refusal.of_call(self, request.id).await
                }
                _ => refusal.error,
            });
        }
        if request.method == HANDSHAKE {
            self.protocol_headers
                .rcu(|headers| ProtocolHeaders::clone(headers).in_session(&response.headers));
        }
        if is_of_type(&response, EVENTS) {
            return self.follow(request, response).await;
        }
        // What a captive portal or a login sends. All else may turn out to be JSON.
        if is_of_type(&response, "text/html") {
            return Err(unreadable("the server answered with an HTML page; check the address."));
        }
        let body = body::whole(remote, &mut response).await?;
        match self.inbox.receive(&body, Some(request.id), &|| self.answerer()).is_settled {
            true => Ok(()),
            false if body.trim_ascii().is_empty() => Err(unreadable("unexpected end of input")),
            false => Err(unreadable("the body does not answer the request")),
        }
    }

    /// A stream that should bring the answer, and may bring other messages before it.
    async fn follow(self: &Arc<Self>, request: &OutgoingRequest, response: HttpResponse) -> Result<()> {
        let mut events = Events::new(response, SseParser::new(self.remote.limit));
        let mut resumed = 0;
        loop {
            match events.next(&self.remote).await {
                Ok(event) if !is_message(&event) => {}
                Ok(event) => {
                    let data = event.data.as_bytes();
                    if self.inbox.receive(data, Some(request.id), &|| self.answerer()).is_settled {
                        events.end(&self.inbox.ended).await;
                        return Ok(());
                    }
                    resumed = 0;
                }
                Err(lost) => self.resume(request, &mut events, &mut resumed, lost).await?,
            }
        }
    }

    /// Asks for the rest of a stream that broke, where the era and the server allow it; otherwise `lost` it stays.
    async fn resume(
        &self,
        request: &OutgoingRequest,
        events: &mut Events,
        resumed: &mut u32,
        lost: HubError,
    ) -> Result<()> {
        let parser = events.parser.resumed();
        // The session may be as new as the answer that is awaited.
        let is_modern = self.protocol_headers.load().is_modern(request.method);
        if lost.kind != ErrorKind::Closed || parser.last_id().is_none() || is_modern {
            return Err(lost);
        }
        for _ in 0..RESUME_ATTEMPTS {
            tokio::time::sleep(next_wait(RESUMING, resumed, parser.retry())).await;
            match self.stream(&parser).await {
                Ok(Some(response)) => {
                    *events = Events::new(response, parser);
                    return Ok(());
                }
                Ok(None) => break,
                Err(_) => {}
            }
        }
        Err(lost)
    }

    /// A stream that goes on from here; `None` if the server has none.
    async fn stream(&self, begun: &SseParser) -> Result<Option<HttpResponse>> {
        let (remote, protocol_headers) = (&self.remote, self.protocol_headers.load_full());
        let headers = || Ok(protocol_headers.listening(begun.last_id()));
        let response = remote.ask(Method::GET, &remote.url, headers, OutgoingBody::default()).await?;
        let is_stream = response.status == 200 && is_of_type(&response, EVENTS);
        Ok(Some(response).filter(|_| is_stream))
    }
}

// The stream on which a server of the legacy era sends what belongs to no request. It is an offer: most servers have none,
// and nothing depends on it, so every refusal is taken without a word.

/// Listens until the transport is closed or the server has no such stream.
pub(crate) async fn listen(shared: Arc<HttpShared>) {
    shared.inbox.ended.run_until_cancelled(keep_listening(&shared)).await;
}

async fn keep_listening(shared: &Arc<HttpShared>) {
    let mut opened = 0;
    let (mut parser, mut is_first) = (SseParser::new(shared.remote.limit), true);
    loop {
        match shared.stream(&parser).await {
            Ok(Some(response)) => {
                if !is_first {
                    shared.inbox.callbacks.reconnected();
                }
                let mut events = Events::new(response, parser);
                shared.take_all(&mut events, || opened = 0).await;
                parser = events.parser.resumed();
            }
            // The server may be starting again. A redirect to elsewhere or missing credentials will stay.
            Err(error) if matches!(error.kind, ErrorKind::Connect | ErrorKind::Closed) => {}
            Ok(None) | Err(_) => return,
        }
        is_first = false;
        tokio::time::sleep(next_wait(LISTENING, &mut opened, parser.retry())).await;
    }
}

// How soon a stream is opened again: later each time, whatever the server asks for.

/// A server may ask for a longer wait than ours, up to this.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

const RESUMING: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
const LISTENING: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// The wait before the next attempt. `attempts` counts those since a stream was worth opening.
fn next_wait(backoff: Backoff, attempts: &mut u32, asked: Option<Duration>) -> Duration {
    *attempts += 1;
    backoff.wait(*attempts - 1, asked.map(|asked| asked.min(LONGEST_ASKED)))
}

// A response that is not an answer, as an error that says whether the call may have run.

/// How long the server may take to answer a ping.
const PING_TIME: Duration = Duration::from_secs(3);

/// A response that is not an answer.
pub(crate) struct Refusal {
    pub(crate) error: HubError,
    /// The error has the id of the request: the method was reached, and may have run.
    pub(super) is_of_method: bool,
}

/// What a response says that is not an answer to the request `id`.
pub(crate) async fn read_refusal(remote: &HttpEndpoint, response: HttpResponse, id: Option<u64>) -> Refusal {
    let status = response.status.as_u16();
    let retry_after = retry_after(&response.headers).map(|wait| wait.as_secs_f64());
    let is_stream = is_of_type(&response, EVENTS);
    let body = body::beginning(response).await;
    let (mut error, mut is_of_method, mut has_result) = (None, false, false);
    for message in wire::decode(&body) {
        match message {
            Ok(Incoming::Response { id: of, outcome: Err(said) })
                if error.is_none() && (of.is_none() || of == id) =>
            {
                (error, is_of_method) = (Some(said), of.is_some());
            }
            Ok(Incoming::Response { outcome: Ok(_), .. }) => has_result = true,
            _ => {}
        }
    }
    let error = match (status, error) {
        (401 | 403, _) => HubError::new(ErrorKind::Auth, sentence(remote, status, &body)),
        // Proxies send these for a server that is missing or busy; they are not answers of the tool.
        (400.., Some(error)) if !matches!(status, 429 | 502..=504) => error,
        _ => HubError::new(ErrorKind::Http, sentence(remote, status, &body)),
    };
    let error = proof::of_status(error, status, is_of_method, has_result || is_stream);
    Refusal { error: HubError { status: Some(status), retry_after, ..error }, is_of_method }
}

impl Refusal {
    /// The error of the call `id` in a session.
    ///
    /// The specification wants a 404 for a session that has ended, the reference servers send a 400, and tools send both for
    /// reasons of their own. No text tells which it was, so the server is asked: if it refuses a ping of the session in the same
    /// way, the session is gone. Then the calls after this one are refused, and not sent; and this
    /// one did not run, unless the error has its id and is not the 404 of the specification.
    pub(crate) async fn of_call(self, shared: &HttpShared, id: u64) -> HubError {
        let Refusal { error, is_of_method } = self;
        let may_be_gone = matches!(error.status, Some(400 | 404));
        if !may_be_gone || !refuses_ping(shared, error.status, id).await {
            return error;
        }
        let gone = shared.inbox.retire(forgotten_session(&shared.remote, error.status)).clone();
        match error.status == Some(404) || !is_of_method {
            true => gone,
            false => HubError { kind: ErrorKind::Closed, ..error },
        }
    }
}

/// Whether the server refuses a ping with this status. A server that does not know pings answers this one, and so does one that
/// cannot be reached or takes its time: nothing is known of the session then.
async fn refuses_ping(shared: &HttpShared, status: Option<u16>, id: u64) -> bool {
    let ping = shared.post(OutgoingBody::of_message(ping(id)));
    let Ok(Ok(response)) = tokio::time::timeout(PING_TIME, ping).await else { return false };
    Some(response.status.as_u16()) == status
        && read_refusal(&shared.remote, response, Some(ping_id(id))).await.error.code
            != Some(METHOD_NOT_FOUND)
}

/// The error of a session that the server does not know any more.
fn forgotten_session(remote: &HttpEndpoint, status: Option<u16>) -> HubError {
    let text =
        message!("the server has forgotten the session ({}); a new one has to be opened", remote.shown);
    HubError { status, nothing_happened: true, ..HubError::new(ErrorKind::Closed, text) }
}

fn sentence(remote: &HttpEndpoint, status: u16, body: &[u8]) -> Message {
    let what = match status {
        200..=299 => message!("HTTP request was accepted with status {}, but not answered", status),
        _ => message!("HTTP request failed with status {}", status),
    };
    let text = String::from_utf8_lossy(body);
    match text.trim_start().starts_with('<') {
        true => message!("{}: {}", what, Message::from("an HTML page")),
        false => match remote.quote(&text) {
            quoted if quoted.is_empty() => what,
            quoted => message!("{}: {}", what, quoted),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_ceiling_and_heed_only_longer_ones() {
        let mut attempts = 0;
        let mut wait = |asked: Option<u64>| {
            next_wait(RESUMING, &mut attempts, asked.map(Duration::from_millis)).as_millis()
        };
        assert_eq!([wait(Some(0)), wait(None), wait(Some(2000)), wait(None)], [200, 400, 2000, 1600]);
        assert_eq!([wait(None), wait(None), wait(None)], [3200, 5000, 5000]);
        assert_eq!(wait(Some(u64::MAX)), 30_000);
    }
}
