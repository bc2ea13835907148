//! A response that is not an answer, as an error that says whether the call may have run.

use super::body;
use super::endpoint::HttpEndpoint;
use crate::error::{ErrorKind, HubError, Outcome};
use crate::net::retry_after;
use crate::sources::mcp::wire::{self, Incoming};
use reqwest::Response;

/// The error for a response that does not answer the request `id`.
pub(crate) async fn refusal(remote: &HttpEndpoint, response: Response, id: Option<u64>) -> HubError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers()).map(|wait| wait.as_secs_f64());
    let body = body::beginning(response).await;
    let mut error = match (status, rpc_error(&body, id)) {
        (401 | 403, _) => HubError::new(ErrorKind::Auth, sentence(remote, status, &body)),
        // Proxies speak like this for a server that is not there or busy: no word of the tool.
        (400.., Some(error)) if !matches!(status, 429 | 502..=504) => error,
        _ => HubError::new(ErrorKind::Http, sentence(remote, status, &body)),
    };
    if error.kind != ErrorKind::Rpc {
        error.outcome = outcome(status);
    }
    HubError { status: Some(status), retry_after, ..error }
}

/// What a status says about the call. The first group refuses a request before it runs: credentials, address, size, media
/// type, rate. After a failure inside the server or behind a proxy the tool may have run, and so it may when a request was
/// accepted and never answered. That includes 503: load balancers send it after the server got the request. Any other
/// refusal counts as an answer.
fn outcome(status: u16) -> Outcome {
    match status {
        401 | 403 | 404 | 405 | 406 | 413 | 415 | 429 => Outcome::NotSent,
        400..=499 => Outcome::Failed,
        _ => Outcome::Unknown,
    }
}

fn sentence(remote: &HttpEndpoint, status: u16, body: &[u8]) -> String {
    let what = match status {
        200..=299 => format!("HTTP request was accepted with status {status}, but not answered"),
        _ => format!("HTTP request failed with status {status}"),
    };
    let text = String::from_utf8_lossy(body);
    let said =
        if text.trim_start().starts_with('<') { "an HTML page".to_owned() } else { remote.quote(&text) };
    if said.is_empty() { what } else { format!("{what}: {said}") }
}

/// The error in a body, if it belongs to this request.
fn rpc_error(body: &[u8], wanted: Option<u64>) -> Option<HubError> {
    wire::decode(body).into_iter().find_map(|message| match message {
        Ok(Incoming::Response { id, outcome: Err(error) }) if id.is_none() || id == wanted => Some(error),
        _ => None,
    })
}
