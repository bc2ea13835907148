//! A response that is not an answer, as an error that says whether the call may have run.

use super::body;
use super::client::HttpResponse;
use super::endpoint::HttpEndpoint;
use crate::error::{ErrorKind, HubError, Outcome};
use crate::net::retry_after;
use crate::sources::mcp::wire::{self, Incoming};

const PARSE_ERROR: i64 = -32700;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// A response that is not an answer.
pub(crate) struct Refusal {
    pub(crate) error: HubError,
    /// It is the session that the server refuses, if the request was sent in one.
    pub(crate) refuses_session: bool,
}

/// The error for a response that is not an answer to the request `id`.
pub(crate) async fn refusal(remote: &HttpEndpoint, response: HttpResponse, id: Option<u64>) -> HubError {
    read_refusal(remote, response, id).await.error
}

pub(crate) async fn read_refusal(remote: &HttpEndpoint, response: HttpResponse, id: Option<u64>) -> Refusal {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers()).map(|wait| wait.as_secs_f64());
    let body = body::beginning(response).await;
    let answered = rpc_error(&body, id);
    let refuses_session = refuses_session(status, answered.as_ref(), &body);
    let error = match (status, answered) {
        (401 | 403, _) => {
            HubError::new(ErrorKind::Auth, sentence(remote, status, &body)).with_outcome(outcome(status))
        }
        // Proxies send these for a server that is missing or busy; they are not answers of the tool.
        (400.., Some((error, is_for_request))) if !matches!(status, 429 | 502..=504) => {
            // Without the id of the request, the error may come from any layer of the server.
            if is_for_request || status < 500 { error } else { error.with_outcome(Outcome::Unknown) }
        }
        _ => HubError::new(ErrorKind::Http, sentence(remote, status, &body)).with_outcome(outcome(status)),
    };
    Refusal { error: HubError { status: Some(status), retry_after, ..error }, refuses_session }
}

/// The error of a session that the server does not know any more.
pub(crate) fn forgotten_session(remote: &HttpEndpoint, status: Option<u16>) -> HubError {
    let text = format!("the server has forgotten the session ({}); a new one has to be opened", remote.shown);
    HubError { status, ..HubError::new(ErrorKind::Closed, text) }.with_outcome(Outcome::NotSent)
}

/// Whether a server refuses the session id of a request, which proves that it did not run it.
///
/// The specification wants a 404. The reference servers send a 400 with a JSON-RPC error (or, in old versions, a sentence).
/// Such an error belongs to the transport: it does not have the id of the request, unlike an error of the method.
fn refuses_session(status: u16, answered: Option<&(HubError, bool)>, body: &[u8]) -> bool {
    let names_session = |text: &str| text.to_ascii_lowercase().contains("session");
    match (status, answered) {
        // An error of the method, which may have run: the 404 can be that of a service that the tool had called.
        (404, Some((error, true))) => names_session(&error.message),
        // A method that the server does not know.
        (404, Some((error, false))) => error.code != Some(METHOD_NOT_FOUND),
        (404, None) => true,
        (400, Some((error, is_for_request))) => {
            names_session(&error.message)
                || !is_for_request
                    && !matches!(error.code, Some(PARSE_ERROR | METHOD_NOT_FOUND | INVALID_PARAMS))
        }
        (400, None) => names_session(&String::from_utf8_lossy(body)),
        _ => false,
    }
}

/// What a status proves about a request that was sent. This is the one place of the rule.
///
/// 429 alone proves that nothing ran: the server did not take the request. Every other refusal (4xx) is an answer, but no
/// proof: a server may pass on the 403 or 404 of a service that its tool had called. After 5xx, after 408, and after a
/// request that was accepted and never answered, the tool may have run. That includes 503: load balancers send it after the
/// server got the request. A refused session proves that nothing ran too; see [`refuses_session`].
fn outcome(status: u16) -> Outcome {
    match status {
        429 => Outcome::NotSent,
        408 => Outcome::Unknown,
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
    let detail =
        if text.trim_start().starts_with('<') { "an HTML page".to_owned() } else { remote.quote(&text) };
    if detail.is_empty() { what } else { format!("{what}: {detail}") }
}

/// The error that a body holds, when it is meant for this request, and whether it has the id of the request.
fn rpc_error(body: &[u8], wanted: Option<u64>) -> Option<(HubError, bool)> {
    wire::decode(body).into_iter().find_map(|message| match message {
        Ok(Incoming::Response { id, outcome: Err(error) }) if id.is_none() || id == wanted => {
            Some((error, id.is_some()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(status: u16, body: &str) -> bool {
        refuses_session(status, rpc_error(body.as_bytes(), Some(7)).as_ref(), body.as_bytes())
    }

    fn error(id: &str, code: i64, message: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
    }

    /// As servers of the TypeScript SDK, of the Python SDK (old and new) and of others answer.
    #[test]
    fn a_refused_session_is_recognised() {
        for (status, body) in [
            (400, error("null", -32000, "Bad Request: No valid session ID provided")),
            (400, error("null", -32000, "Bad Request: Server not initialized")),
            (404, error("null", -32001, "Session not found")),
            (404, error("\"server-error\"", -32600, "Session not found")),
            (400, error("\"server-error\"", -32600, "Bad Request: Missing session ID")),
            (400, error("7", -32000, "Unknown session")),
            (400, "Bad Request: No valid session ID provided".to_owned()),
            (404, error("7", -32001, "Session not found")),
            (404, String::new()),
        ] {
            assert!(refuses(status, &body), "{status} {body}");
        }
    }

    #[test]
    fn a_refused_request_is_not_a_refused_session() {
        for (status, body) in [
            (400, error("7", -32602, "Unknown tool")),
            (400, error("7", -32000, "No money left")),
            (400, error("null", -32700, "Parse error")),
            (404, error("7", -32601, "Method not found")),
            (404, error("7", -32603, "The repository was not found")),
            (400, "Bad Request".to_owned()),
            (500, error("null", -32000, "Session not found")),
            (403, "no session".to_owned()),
        ] {
            assert!(!refuses(status, &body), "{status} {body}");
        }
    }
}
