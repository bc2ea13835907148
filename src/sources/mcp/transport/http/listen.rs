//! The stream on which a server of the legacy era sends what belongs to no request. It is an offer: most servers have none,
//! and nothing depends on it, so every refusal is taken without a word.

use super::Shared;
use super::body::{self, Events, Kind, is_message};
use super::pace::Pace;
use super::peer::Peer;
use crate::error::ErrorKind;
use bytes::Bytes;
use reqwest::Method;
use std::sync::Arc;
use std::time::Duration;

/// Listens until the transport is closed or the server has no such stream.
pub(crate) async fn listen(shared: Arc<Shared>) {
    let closed = shared.closed.clone();
    tokio::select! {
        () = closed.cancelled() => {}
        () = keep_listening(&shared) => {}
    }
}

async fn keep_listening(shared: &Arc<Shared>) {
    let Ok(peer) = shared.peer() else { return };
    let mut pace = Pace::of_listening();
    let mut place = Place::default();
    while follow(shared, &peer, &mut place, &mut pace).await {
        tokio::time::sleep(pace.wait(place.retry)).await;
    }
}

/// Where the stream was when it broke, and how soon the server wants to see us again.
#[derive(Default)]
struct Place {
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// One stream from its beginning to its end. False when it is not worth asking again.
async fn follow(shared: &Arc<Shared>, peer: &Peer, place: &mut Place, pace: &mut Pace) -> bool {
    let speech = shared.speech.load_full();
    let headers = || Ok(speech.listening(place.last_id.as_deref()));
    let response = match peer.ask(Method::GET, &peer.url, headers, Bytes::new()).await {
        Ok(response) => response,
        // The server may be starting again. A redirect to elsewhere or missing credentials will stay.
        Err(error) => return matches!(error.kind, ErrorKind::Connect | ErrorKind::Closed),
    };
    if response.status() != 200 || !matches!(body::kind(&response), Kind::Events) {
        return false;
    }
    let mut events = Events::new(response, peer.limit);
    while let Ok(event) = events.next(peer).await {
        if is_message(&event) {
            pace.reset();
            shared.inbox.receive(event.data.as_bytes(), None, &|| shared.answerer());
        }
    }
    place.last_id = events.last_id().map(str::to_owned).or_else(|| place.last_id.take());
    place.retry = events.retry().or(place.retry);
    true
}
