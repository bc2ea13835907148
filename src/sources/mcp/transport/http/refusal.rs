//! A response that is not an answer, as an error that says whether the call may have run.

use super::body;
use super::client::HttpResponse;
use super::endpoint::HttpEndpoint;
use crate::error::{ErrorKind, HubError, Outcome};
use crate::net::retry_after;
use crate::sources::mcp::wire::{self, Incoming};
use std::sync::OnceLock;

const PARSE_ERROR: i64 = -32700;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// A response that is not an answer.
pub(crate) struct Refusal {
    pub(crate) error: HubError,
    pub(crate) session: SessionVerdict,
}

/// What a response says about the session of its request, if the request was sent in one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionVerdict {
    Kept,
    /// It may be gone. The call may have run all the same.
    Doubtful,
    /// The server refused it, which proves that the call did not run.
    Refused,
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
    let session = session_verdict(status, answered.as_ref(), &body);
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
    Refusal { error: HubError { status: Some(status), retry_after, ..error }, session }
}

impl Refusal {
    /// The error of the call. If the session may be gone, `forgotten` gets the error of the calls after it: they are not sent.
    pub(crate) fn of_call(self, remote: &HttpEndpoint, forgotten: &OnceLock<HubError>) -> HubError {
        let Refusal { error, session } = self;
        let gone = || forgotten.get_or_init(|| forgotten_session(remote, error.status)).clone();
        match session {
            SessionVerdict::Kept => error,
            SessionVerdict::Refused => gone(),
            SessionVerdict::Doubtful => {
                gone();
                HubError { kind: ErrorKind::Closed, ..error }
            }
        }
    }
}

/// The error of a session that the server does not know any more.
fn forgotten_session(remote: &HttpEndpoint, status: Option<u16>) -> HubError {
    let text = format!("the server has forgotten the session ({}); a new one has to be opened", remote.shown);
    HubError { status, ..HubError::new(ErrorKind::Closed, text) }.with_outcome(Outcome::NotSent)
}

/// Whether a server refuses the session id of a request.
///
/// The specification wants a 404. The reference servers send a 400 with a JSON-RPC error. Such an error belongs to the transport:
/// it does not have the id of the request, unlike an error of the method, which may have run. Other servers send a sentence, or
/// their error with the id: a text proves nothing, and decides only whether a new session is opened.
fn session_verdict(status: u16, answered: Option<&(HubError, bool)>, body: &[u8]) -> SessionVerdict {
    let is_refused = match (status, answered) {
        (404, None) => true,
        // A method that the server does not know.
        (404, Some((error, false))) => error.code != Some(METHOD_NOT_FOUND),
        (400, Some((error, false))) => {
            let of_request = [PARSE_ERROR, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR];
            error.code.is_none_or(|code| !of_request.contains(&code))
        }
        _ => false,
    };
    let sentence =
        answered.map_or_else(|| String::from_utf8_lossy(body), |(error, _)| error.message.as_ref().into());
    match status {
        _ if is_refused => SessionVerdict::Refused,
        400 | 404 if sentence.to_ascii_lowercase().contains("session") => SessionVerdict::Doubtful,
        _ => SessionVerdict::Kept,
    }
}

/// What a status proves about a request that was sent. This is the one place of the rule.
///
/// 429 alone proves that nothing ran: the server did not take the request. Every other refusal (4xx) is an answer, but no
/// proof: a server may pass on the 403 or 404 of a service that its tool had called. After 5xx, after 408, and after a
/// request that was accepted and never answered, the tool may have run. That includes 503: load balancers send it after the
/// server got the request. A refused session proves that nothing ran too; see [`session_verdict`].
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

    fn verdict(status: u16, body: &str) -> SessionVerdict {
        session_verdict(status, rpc_error(body.as_bytes(), Some(7)).as_ref(), body.as_bytes())
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
            (404, String::new()),
        ] {
            assert_eq!(verdict(status, &body), SessionVerdict::Refused, "{status} {body}");
        }
    }

    #[test]
    fn a_text_proves_nothing_about_the_call() {
        for (status, body) in [
            (400, error("7", -32000, "Unknown session")),
            (400, "Bad Request: No valid session ID provided".to_owned()),
            (404, error("7", -32001, "Session not found")),
            (404, error("7", -32603, "the browser session ended after the payment")),
        ] {
            assert_eq!(verdict(status, &body), SessionVerdict::Doubtful, "{status} {body}");
        }
    }

    #[test]
    fn a_refused_request_is_not_a_refused_session() {
        for (status, body) in [
            (400, error("7", -32602, "Unknown tool")),
            (400, error("7", -32000, "No money left")),
            (400, error("null", -32700, "Parse error")),
            (400, error("null", -32603, "The log failed after the payment")),
            (404, error("7", -32601, "Method not found")),
            (404, error("7", -32603, "The repository was not found")),
            (400, "Bad Request".to_owned()),
            (500, error("null", -32000, "Session not found")),
            (403, "no session".to_owned()),
        ] {
            assert_eq!(verdict(status, &body), SessionVerdict::Kept, "{status} {body}");
        }
    }
}
