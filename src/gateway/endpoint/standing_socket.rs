//! Standing streams on HTTP/1.1, of which a gateway has thousands that are idle. hyper keeps buffers of 24 KB for a connection
//! for as long as it lives. So it reads the request and sends the head of the answer; then the socket is taken from it, and
//! the events are written here, in chunks. The connection ends with the stream.

use super::write_timeout::WriteProgress;
use crate::sync::Mutex;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::Stream;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub type EventStream = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Where the answer to a request leaves a standing stream.
#[derive(Clone)]
pub struct StandingSlot {
    progress: Arc<WriteProgress>,
    /// The stream, and how much was written on the connection before its head.
    left: Arc<Mutex<Option<(EventStream, u64)>>>,
}

impl StandingSlot {
    pub fn new(progress: Arc<WriteProgress>) -> Self {
        StandingSlot { progress, left: Arc::default() }
    }

    pub fn put(&self, events: EventStream) {
        *self.left.lock() = Some((events, self.progress.written()));
    }

    /// The stream, if the head of its answer is on its way.
    fn take(&self) -> Option<EventStream> {
        let mut left = self.left.lock();
        // hyper writes the head as soon as it has it, and all that it has.
        let is_head_sent = |before: u64| self.progress.written() > before && !self.progress.is_waiting();
        left.take_if(|(_, before)| is_head_sent(*before)).map(|(events, _)| events)
    }

    /// Serves a connection to its end, `None`, or until a standing stream has begun.
    pub async fn until_taken(&self, connection: &mut (impl Future + Unpin)) -> Option<EventStream> {
        poll_fn(|context| match Pin::new(&mut *connection).poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => self.take().map_or(Poll::Pending, |events| Poll::Ready(Some(events))),
        })
        .await
    }
}

/// Writes events until they end, or the client leaves. What the client sends meanwhile is not read as a request: it was told
/// that the connection ends with this answer.
pub async fn write_events(mut socket: impl AsyncRead + AsyncWrite + Unpin, mut events: EventStream) {
    let mut ignored = [0; 64];
    loop {
        let next = tokio::select! {
            next = events.next() => next,
            read = socket.read(&mut ignored) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            },
        };
        let is_last = next.is_none();
        let written = match next {
            Some(bytes) => socket.write_all_buf(&mut chunk(bytes)).await,
            None => socket.write_all(LAST_CHUNK).await,
        };
        if written.is_err() || is_last {
            // The client may have gone.
            let _ = socket.shutdown().await;
            return;
        }
    }
}

/// The bytes are not copied: a large message is held until it is written.
fn chunk(bytes: Bytes) -> impl Buf {
    let head = format!("{:x}\r\n", bytes.len());
    Buf::chain(Buf::chain(Bytes::from(head), bytes), &b"\r\n"[..])
}
