//! A response that is not an answer, as an error that says whether the call may have run.

use super::body;
use super::endpoint::HttpEndpoint;
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::wire::{self, Incoming};
use reqwest::Response;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::SystemTime;

/// The error for a response that is no answer to the request `id`.
pub(crate) async fn refusal(remote: &HttpEndpoint, response: Response, id: Option<u64>) -> HubError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
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

/// The error that a body holds, when it is meant for this request.
fn rpc_error(body: &[u8], wanted: Option<u64>) -> Option<HubError> {
    wire::decode(body).into_iter().find_map(|message| match message {
        Ok(Incoming::Response { id, outcome: Err(error) }) if id.is_none() || id == wanted => Some(error),
        _ => None,
    })
}

/// Seconds, or a date, which is meant on the server's clock.
fn retry_after(headers: &HeaderMap) -> Option<f64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    }
    let date = httpdate::parse_http_date(asked).ok()?;
    let now =
        text(DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(SystemTime::now);
    Some(date.duration_since(now).unwrap_or_default().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let read = |lines: &[(&'static str, &'static str)]| {
            let pairs = lines.iter().map(|(name, value)| {
                (
                    reqwest::header::HeaderName::from_static(name),
                    reqwest::header::HeaderValue::from_static(value),
                )
            });
            retry_after(&pairs.collect())
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(read(&[("retry-after", "7")]), Some(7.0));
        assert_eq!(read(&[("retry-after", " 0.5 ")]), Some(0.5));
        assert_eq!(read(&[date, ("retry-after", "Sun, 06 Nov 1994 08:59:37 GMT")]), Some(600.0));
        assert_eq!(read(&[date, ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]), Some(0.0));
        for odd in ["-1", "soon", "inf", "NaN", ""] {
            assert_eq!(read(&[("retry-after", odd)]), None, "{odd}");
        }
        assert_eq!(read(&[date]), None);
    }
}
