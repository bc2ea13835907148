//! The stream on which a server of the legacy era sends what belongs to no request. It is an offer: most servers have none,
//! and nothing depends on it, so every refusal is taken without a word.

use super::body::{self, BodyKind, Events};
use super::endpoint::HttpEndpoint;
use super::outgoing::OutgoingBody;
use super::reconnect_delay::ReconnectDelay;
use super::shared::HttpShared;
use reqwest::Method;
use std::sync::Arc;
use std::time::Duration;
use toolhub_types::error::ErrorKind;

/// Listens until the transport is closed or the server has no such stream.
pub(crate) async fn listen(shared: Arc<HttpShared>) {
    let closed = shared.closed.clone();
    tokio::select! {
        () = closed.cancelled() => {}
        () = keep_listening(&shared) => {}
    }
}

async fn keep_listening(shared: &Arc<HttpShared>) {
    let Ok(remote) = shared.remote() else { return };
    let mut delay = ReconnectDelay::of_listening();
    let mut place = StreamPosition::default();
    while follow(shared, &remote, &mut place, &mut delay).await {
        place.is_again = true;
        tokio::time::sleep(delay.wait(place.retry)).await;
    }
}

/// Where the stream was when it broke, and how soon the server wants to see us again.
#[derive(Default)]
struct StreamPosition {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// There was a stream before this one.
    is_again: bool,
}

/// One stream from its beginning to its end. False when it is not worth asking again.
async fn follow(
    shared: &Arc<HttpShared>,
    remote: &HttpEndpoint,
    place: &mut StreamPosition,
    delay: &mut ReconnectDelay,
) -> bool {
    let protocol_headers = shared.protocol_headers.load_full();
    let headers = || Ok(protocol_headers.listening(place.last_id.as_deref()));
    let response = match remote.ask(Method::GET, &remote.url, headers, OutgoingBody::empty()).await {
        Ok(response) => response,
        // The server may be starting again. A redirect to elsewhere or missing credentials will stay.
        Err(error) => return matches!(error.kind, ErrorKind::Connect | ErrorKind::Closed),
    };
    if response.status() != 200 || !matches!(body::kind(&response), BodyKind::Events) {
        return false;
    }
    if place.is_again {
        shared.inbox.reconnected();
    }
    let mut events = Events::shared(response, remote.limit);
    while let Ok(event) = events.next_shared(remote).await {
        if shared.take(event, remote.limit) {
            delay.reset();
        }
    }
    place.last_id = events.last_id().map(str::to_owned).or_else(|| place.last_id.take());
    place.retry = events.retry().or(place.retry);
    true
}
