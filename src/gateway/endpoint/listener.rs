//! The HTTP endpoint on sockets.

use super::admit::admit;
use super::body;
use super::cors;
use super::first_bytes::FirstBytes;
use super::hang_up::HangUpWatch;
use super::http::{refuse, serve};
use super::reply::{HttpReply, ReplyBody};
use super::standing_socket::{EventStream, StandingSlot, write_events};
use super::stream_timeout::{StreamExecutor, TimedBody};
use super::write_timeout::{WriteProgress, WriteTimeout};
use crate::gateway::connections::ConnectionPlace;
use crate::gateway::operate::Drain;
use crate::gateway::state::Gateway;
use bytes::Bytes;
use futures_util::StreamExt;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// After a failed accept, such as one for which no file descriptor was left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the end of an idle connection of HTTP/2 waits for the answer to its ping.
const LAST_PING: Duration = Duration::from_millis(500);
/// The least that hyper reads the head of a request into.
const SMALLEST_HEAD: usize = 8192;
/// What a client gets for whose connection there is no room.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How long, and how much, is read of a client that was turned away, and of how many of them at once.
const LEAVING_TIME: Duration = Duration::from_secs(1);
const LEAVING_BYTES: usize = 64 * 1024;
const MOST_LEAVING: usize = 256;
/// The part of the connections that may be leaving; they have descriptors too.
const LEAVING_PART: usize = 8;

/// Serves connections until the gateway stops. Requests that are running then are answered.
pub async fn serve_http(gateway: Arc<Gateway>, listener: TcpListener) {
    let stop = gateway.stop.clone();
    let mut connections = tokio::task::JoinSet::new();
    let most_leaving = MOST_LEAVING.min(gateway.admission.most_connections() / LEAVING_PART);
    let leaving = Arc::new(Semaphore::new(most_leaving));
    connections.spawn({
        let gateway = gateway.clone();
        async move { gateway.stop.run_until_cancelled(gateway.busy_poll.run()).await.unwrap_or_default() }
    });
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let is_full = gateway.admission.connections().count() >= gateway.admission.most_connections();
                    match gateway.admission.connect() {
                        Some(place) => {
                            let place = Arc::new(place);
                            connections.spawn(serve_connection(gateway.clone(), stream, stop.clone(), place));
                        }
                        None => turn_away(&gateway, stream, &leaving),
                    }
                    if is_full {
                        log_no_room(&gateway);
                    }
                }
                Err(_) => {
                    // Most often no descriptor is left.
                    gateway.admission.connections().close_stranger();
                    log_no_room(&gateway);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

fn log_no_room(gateway: &Gateway) {
    if gateway.admission.connections().is_line_due(Instant::now()) {
        let most = gateway.admission.most_connections();
        gateway.upstreams.log(
            "gateway",
            "warning",
            &format!("all {most} connections are taken: idle ones of strangers are closed, others get 503"),
        );
    }
}

/// Says that there is no room, as far as the socket takes it at once, and closes the connection.
fn turn_away(gateway: &Gateway, stream: TcpStream, leaving: &Arc<Semaphore>) {
    gateway.refused(StatusCode::SERVICE_UNAVAILABLE, None);
    let _ = stream.try_write(NO_ROOM);
    // A socket that is closed while something is unread tells the client of a reset instead of the answer.
    if let Ok(place) = leaving.clone().try_acquire_owned() {
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LEAVING_TIME, read_out(stream)).await;
            drop(place);
        });
    }
}

/// Reads what a client sends until it has read our last word and closes its end.
async fn read_out(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut unread = [0; 1024];
    let mut rest = LEAVING_BYTES;
    while let Ok(count @ 1..) = stream.read(&mut unread).await
        && rest > count
    {
        rest -= count;
    }
}

async fn serve_connection(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    stop: CancellationToken,
    place: Arc<ConnectionPlace>,
) {
    // Boxed, so that its memory is free when a standing stream goes on without it.
    let served = Box::pin(serve_requests(gateway, stream, stop, place.clone()));
    let left = place.closed.run_until_cancelled(served).await.flatten();
    if let Some((stream, events)) = left {
        write_events(stream, events).await;
    }
}

/// Serves a connection to its end, `None`, or until a standing stream has begun.
async fn serve_requests(
    gateway: Arc<Gateway>,
    mut stream: TcpStream,
    stop: CancellationToken,
    place: Arc<ConnectionPlace>,
) -> Option<(WriteTimeout<HangUpWatch>, EventStream)> {
    let limits = gateway.admission.limits();
    // Without this, a small answer waits for the acknowledgement of the one before it (40 ms).
    let _ = stream.set_nodelay(true);
    let first = tokio::select! {
        () = stop.cancelled() => return None,
        first = tokio::time::timeout(limits.head_timeout, FirstBytes::read(&mut stream)) => first,
    };
    // What a client does to its own connection is of no concern to others, here and below.
    let Ok(Ok(first)) = first else { return None };
    let is_http2 = first.is_http2;
    let stream = if is_http2 { HangUpWatch::off(stream) } else { HangUpWatch::new(stream) };
    let stream = WriteTimeout::new(stream, limits.write_timeout);
    let progress = stream.progress();
    let standing = StandingSlot::new(progress.clone());
    let stream = TokioIo::new(first.before(stream));
    let slot = (!is_http2).then(|| standing.clone());
    let service = service_fn(move |request| {
        let (gateway, slot, place) = (gateway.clone(), slot.clone(), place.clone());
        async move { Ok::<_, Infallible>(reply(&gateway, request, slot.as_ref(), &place).await) }
    });
    if is_http2 {
        let list_size = u32::try_from(limits.max_headers).unwrap_or(u32::MAX);
        let streams = Drain::default();
        let timeout = limits.write_timeout;
        let mut builder = http2::Builder::new(StreamExecutor { timeout, streams: streams.clone() });
        builder.timer(TokioTimer::new()).max_header_list_size(list_size);
        // A client that is not there any more does not answer a ping.
        builder.keep_alive_interval(limits.head_timeout).keep_alive_timeout(limits.head_timeout);
        let connection = builder.serve_connection(stream, service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return None,
            () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        until_answered(connection, &streams, &progress).await;
        return None;
    }
    let mut builder = http1::Builder::new();
    let head = limits.max_headers.max(SMALLEST_HEAD);
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_buf_size(head);
    let mut connection = builder.serve_connection(stream, service);
    let served = standing.until_taken(&mut connection);
    let events = tokio::select! {
        events = served => events,
        () = stop.cancelled() => {
            Pin::new(&mut connection).graceful_shutdown();
            standing.until_taken(&mut connection).await
        }
    };
    events.map(|events| (connection.into_parts().io.into_inner().into_inner(), events))
}

/// Serves a connection of HTTP/2 that is to end, until its requests are answered. The end begins with a ping; a client that does
/// not answer it must not hold up the gateway.
async fn until_answered(mut connection: Pin<&mut impl Future>, streams: &Drain, progress: &WriteProgress) {
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = streams.idle(Duration::MAX) => {}
    }
    // What was answered may still have to be written.
    while tokio::time::timeout(LAST_PING, connection.as_mut()).await.is_err() && progress.is_waiting() {}
}

async fn reply(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    slot: Option<&StandingSlot>,
    place: &ConnectionPlace,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let (parts, body) = request.into_parts();
    // A proxy may have read other ends of a chunked body than we have, above all if there is a Content-Length, too. What
    // follows on the connection must not be taken for a request.
    let is_chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
    gateway.busy_poll.extend();
    let reply = answered(gateway, &parts, body, place).await.unwrap_or_else(|refusal| refusal);
    let reply = cors::readable(gateway, &parts, reply);
    if reply.status.is_client_error() || reply.status.is_server_error() {
        // A refusal has a line too.
        gateway.log_written().await;
    }
    gateway.busy_poll.extend();
    let slot = slot.filter(|_| reply.is_standing && parts.version == Version::HTTP_11);
    let is_last = is_chunked || slot.is_some();
    let body = match (reply.body, slot) {
        (ReplyBody::Whole(bytes), _) => Full::new(bytes).boxed_unsync(),
        // hyper sends the head; then the stream goes on without it.
        (ReplyBody::Events(events), Some(slot)) => {
            slot.put(events);
            BodyExt::boxed_unsync(StreamBody::new(futures_util::stream::pending()))
        }
        (ReplyBody::Events(events), None) => {
            BodyExt::boxed_unsync(StreamBody::new(events.map(|bytes| Ok(Frame::data(bytes)))))
        }
    };
    let mut response = Response::new(match parts.version {
        Version::HTTP_2 => TimedBody::new(body).boxed_unsync(),
        _ => body,
    });
    *response.status_mut() = reply.status;
    response.headers_mut().extend(reply.headers);
    if is_last {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The body is read after the request was admitted: strangers cannot make the gateway read.
async fn answered(
    gateway: &Arc<Gateway>,
    parts: &Parts,
    body: Incoming,
    place: &ConnectionPlace,
) -> Result<HttpReply, HttpReply> {
    let looked = place.look();
    let admitted = admit(gateway, parts).await?;
    looked.is_caller();
    drop(looked);
    let principal = &admitted.origin.principal;
    let body = body::read(gateway, principal, body).await;
    let body = body.map_err(|refusal| refuse(gateway, principal, refusal))?;
    Ok(serve(gateway, admitted, parts, body).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, C, D, F: Future>(_: fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_connection_with_a_standing_stream_is_small() {
        let bytes = size(serve_connection);
        assert!(bytes <= 1_000, "{bytes} bytes for each of thousands of listeners");
    }
}
