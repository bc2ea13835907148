//! Posting what the server does not have to answer.

use super::body;
use super::client::HttpResponse;
use super::endpoint::HttpEndpoint;
use super::refusal::{Refusal, read_refusal};
use std::time::Duration;
use toolhub_types::error::{ErrorKind, HubError};

/// How long the server may take to accept it.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(3);

/// Waits for a 2xx, and for the end of its body, so that the connection can be used again.
pub(crate) async fn accepted(
    remote: &HttpEndpoint,
    post: impl Future<Output = Result<HttpResponse, HubError>>,
    id: Option<u64>,
) -> Result<(), Refusal> {
    let response = post.await.map_err(Refusal::unsent)?;
    if response.status().is_success() {
        body::beginning(response).await;
        return Ok(());
    }
    Err(read_refusal(remote, response, id).await)
}

pub(crate) fn unaccepted(remote: &HttpEndpoint) -> HubError {
    let text =
        format!("the server did not accept a message within {} s ({})", SEND_TIME.as_secs(), remote.shown);
    HubError::new(ErrorKind::Timeout, text)
}

/// The error of what is in flight when a transport is closed.
pub(crate) fn closed(remote: &HttpEndpoint) -> HubError {
    HubError::new(ErrorKind::Closed, format!("the connection was closed ({})", remote.shown))
}
