//! Reading what a server sends, never more of it than the limit allows.
//!
//! The HTTP library hands out a packed body in unpacked pieces, so a small body that becomes a large one is caught on its way.

use super::client::HttpResponse;
use super::endpoint::HttpEndpoint;
use crate::mcp::transport::too_large;
use crate::mcp::wire::IdScan;
use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::sse::{SseEvent, SseItem, SseParser};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result};

/// How much of an error's body is read, and for how long: the error itself must not wait for it.
const BEGINNING: usize = 64 * 1024;
const BEGINNING_TIME: Duration = Duration::from_secs(1);
/// How long the end of an answered stream is waited for, so that its connection can be used again.
const END_TIME: Duration = Duration::from_secs(1);

/// An event of more than this many times the limit ends a shared stream: any of the requests may wait for it in vain.
const MOST_SKIPPED: usize = 4;
/// The same if its request is known and has failed: only an event without an end is that long.
const MOST_SKIPPED_OF_KNOWN: usize = 256;
/// As many times the limit may come without an event: comments keep a stream alive, and are a few bytes each.
const MOST_BETWEEN_EVENTS: usize = 16;

pub(crate) const EVENTS: &str = "text/event-stream";

/// Whether the body claims to be of this type.
pub(crate) fn is_of_type(response: &HttpResponse, name: &str) -> bool {
    let begin = response.headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().get(..name.len()));
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
}

/// The whole body. One that came in one piece is not copied.
pub(crate) async fn whole(remote: &HttpEndpoint, response: &mut HttpResponse) -> Result<Bytes> {
    let lost = |error| remote.lost(&error);
    let announced = response.content_length().unwrap_or(0);
    if announced > remote.limit as u64 {
        return Err(too_large(remote.limit));
    }
    let Some(first) = response.chunk().await.map_err(lost)? else { return Ok(Bytes::new()) };
    if first.len() > remote.limit {
        return Err(too_large(remote.limit));
    }
    let Some(second) = response.chunk().await.map_err(lost)? else { return Ok(first) };
    let mut body = Vec::with_capacity(announced as usize);
    body.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(bytes) = next {
        tokio::task::coop::consume_budget().await;
        if bytes.len() > remote.limit - body.len() {
            return Err(too_large(remote.limit));
        }
        body.extend_from_slice(&bytes);
        next = response.chunk().await.map_err(lost)?;
    }
    Ok(body.into())
}

/// The beginning of a body that is only looked at, or what came of it in time.
pub(crate) async fn beginning(mut response: HttpResponse) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = BEGINNING - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() >= room {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(BEGINNING_TIME, read).await;
    body
}

/// A stream of events.
pub(crate) struct Events {
    response: HttpResponse,
    /// Knows where to go on should the stream break, and how soon the server wants to see us again.
    pub(super) parser: SseParser,
    /// Of the large event that is being skipped, until its id is reported.
    scan: Option<IdScan>,
    /// How much of that event was skipped.
    skipped: usize,
    /// How much came since the last event.
    between: usize,
    ended: bool,
}

impl Events {
    pub(crate) fn new(response: HttpResponse, parser: SseParser) -> Self {
        Events { response, parser, scan: Some(IdScan::default()), skipped: 0, between: 0, ended: false }
    }

    /// The next event. An error of the kind `Closed` is the end of the stream.
    pub(crate) async fn next(&mut self, remote: &HttpEndpoint) -> Result<SseEvent> {
        self.item(remote).await?.whole().ok_or_else(|| too_large(remote.limit))
    }

    /// The next event of a stream that several requests share, or the id of the request whose answer is over the limit.
    pub async fn next_shared(&mut self, remote: &HttpEndpoint) -> Result<Result<SseEvent, u64>> {
        loop {
            match self.item(remote).await? {
                SseItem::Event(event) => return Ok(Ok(event)),
                SseItem::LargeData(bytes) => {
                    self.skipped += bytes.len();
                    let most = if self.scan.is_some() { MOST_SKIPPED } else { MOST_SKIPPED_OF_KNOWN };
                    if self.skipped > remote.limit.saturating_mul(most) {
                        return Err(too_large(remote.limit));
                    }
                    let Some(scan) = &mut self.scan else { continue };
                    scan.feed(&bytes);
                    if let Some(id) = scan.id() {
                        self.scan = None;
                        return Ok(Err(id));
                    }
                }
                SseItem::LargeEnd => {
                    self.skipped = 0;
                    self.scan = Some(IdScan::default());
                }
            }
        }
    }

    async fn item(&mut self, remote: &HttpEndpoint) -> Result<SseItem> {
        loop {
            // What is unpacked, or was read already, does not wait: without this, a server that floods its stream would
            // hold up all others.
            tokio::task::coop::consume_budget().await;
            if let Some(item) = self.parser.next_item() {
                // A long line that is not data is told of, and is not an event.
                if item != SseItem::LargeData(Vec::new()) {
                    self.between = 0;
                }
                return Ok(item);
            }
            if self.ended {
                let text = message!("the server ended the stream without an answer ({})", remote.shown);
                return Err(HubError::new(ErrorKind::Closed, text));
            }
            match self.response.chunk().await.map_err(|error| remote.lost(&error))? {
                Some(bytes) => {
                    self.between += bytes.len();
                    if self.between > remote.limit.saturating_mul(MOST_BETWEEN_EVENTS) {
                        return Err(too_large(remote.limit));
                    }
                    self.parser.feed(&bytes);
                }
                None => {
                    self.ended = true;
                    self.parser.finish();
                }
            }
        }
    }

    /// Nothing more is wanted. A stream that ends by itself now leaves a connection that can be used again; one that does
    /// not is closed.
    pub(crate) async fn end(mut self, closed: &CancellationToken) {
        if self.ended {
            return;
        }
        // It often ends with the very bytes that brought the answer, as soon as its connection has had a turn.
        for _ in 0..2 {
            tokio::select! {
                biased;
                last = self.response.chunk() => if !matches!(last, Ok(Some(_))) { return },
                () = tokio::task::yield_now() => {}
            }
        }
        let closed = closed.clone();
        tokio::spawn(async move {
            let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
            closed.run_until_cancelled(tokio::time::timeout(END_TIME, rest)).await
        });
    }
}

/// Whether an event carries a message: other names are not ours, and an empty one only marks a place.
pub(crate) fn is_message(event: &SseEvent) -> bool {
    (event.name.is_empty() || event.name == "message") && !event.data.is_empty()
}
