//! A response that is not an answer, as an error that says whether the call may have run.

use super::body::{self, BodyKind};
use super::client::HttpResponse;
use super::endpoint::HttpEndpoint;
use crate::mcp::message::ping_id;
use crate::mcp::proof;
use crate::mcp::wire::{self, Incoming};
use std::sync::OnceLock;
use std::time::Duration;
use toolhub_protocol::METHOD_NOT_FOUND;
use toolhub_protocol::net::retry_after;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError};

/// How long the server may take to answer a ping.
const PING_TIME: Duration = Duration::from_secs(3);

/// A response that is not an answer.
pub(crate) struct Refusal {
    pub(crate) error: HubError,
    /// The error has the id of the request: the method was reached, and may have run.
    is_of_method: bool,
}

/// What a response says that is not an answer to the request `id`.
pub(crate) async fn read_refusal(remote: &HttpEndpoint, response: HttpResponse, id: Option<u64>) -> Refusal {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers()).map(|wait| wait.as_secs_f64());
    let is_stream = matches!(body::kind(&response), BodyKind::Events);
    let body = body::beginning(response).await;
    let RefusalBody { error, is_of_method, has_result } = RefusalBody::read(&body, id);
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
    /// Of a message that did not get there.
    pub(crate) fn unsent(error: HubError) -> Self {
        Refusal { error, is_of_method: false }
    }

    /// The error of the call `id` in a session. `ping` posts its ping in the same session.
    ///
    /// The specification wants a 404 for a session that has ended, the reference servers send a 400, and tools send both for
    /// reasons of their own. No text tells which it was, so the server is asked: if it refuses a ping of the session in the same
    /// way, the session is gone. Then `forgotten` gets the error of the calls after this one, which are not sent; and this
    /// one did not run, unless the error has its id and is not the 404 of the specification.
    pub(crate) async fn of_call(
        self,
        remote: &HttpEndpoint,
        forgotten: &OnceLock<HubError>,
        id: u64,
        ping: impl Future<Output = Result<HttpResponse, HubError>>,
    ) -> HubError {
        let Refusal { error, is_of_method } = self;
        let may_be_gone = matches!(error.status, Some(400 | 404));
        if !may_be_gone || !refuses_ping(remote, error.status, id, ping).await {
            return error;
        }
        let gone = forgotten.get_or_init(|| forgotten_session(remote, error.status)).clone();
        match error.status == Some(404) || !is_of_method {
            true => gone,
            false => HubError { kind: ErrorKind::Closed, ..error },
        }
    }
}

/// Whether the server refuses a ping with this status. A server that does not know pings answers this one, and so does one that
/// cannot be reached or takes its time: nothing is known of the session then.
async fn refuses_ping(
    remote: &HttpEndpoint,
    status: Option<u16>,
    id: u64,
    ping: impl Future<Output = Result<HttpResponse, HubError>>,
) -> bool {
    let Ok(Ok(response)) = tokio::time::timeout(PING_TIME, ping).await else { return false };
    Some(response.status().as_u16()) == status
        && read_refusal(remote, response, Some(ping_id(id))).await.error.code != Some(METHOD_NOT_FOUND)
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

/// What the body of a refusal says about the request.
#[derive(Default)]
struct RefusalBody {
    error: Option<HubError>,
    /// The error has the id of the request.
    is_of_method: bool,
    has_result: bool,
}

impl RefusalBody {
    fn read(body: &[u8], wanted: Option<u64>) -> Self {
        let mut found = RefusalBody::default();
        for message in wire::decode(body) {
            match message {
                Ok(Incoming::Response { id, outcome: Err(error) })
                    if found.error.is_none() && (id.is_none() || id == wanted) =>
                {
                    found = RefusalBody { error: Some(error), is_of_method: id.is_some(), ..found };
                }
                Ok(Incoming::Response { outcome: Ok(_), .. }) => found.has_result = true,
                _ => {}
            }
        }
        found
    }
}
