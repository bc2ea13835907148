//! The HTTP endpoint on sockets.

use crate::Gateway;
use crate::http::{ArrivingRequest, ClientSocket, HttpReply, ReplyBody, StreamExecutor, TimedBody};
use crate::operate::{ConnectionPermit, Drain};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// After a failed accept, such as one for which no file descriptor was left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What a client of HTTP/2 sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const LOOK_AGAIN: Duration = Duration::from_millis(10);
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
/// The part of the connections that may be leaving, turned away or to make room; they have descriptors too.
const LEAVING_PART: usize = 8;

/// Serves connections until the gateway stops. Requests that are running then are answered.
pub async fn serve_http(gateway: Arc<Gateway>, listener: TcpListener) {
    let (admission, stop) = (&gateway.operation.admission, gateway.operation.closing.clone());
    let mut connections = tokio::task::JoinSet::new();
    let most_leaving = MOST_LEAVING.min(admission.most_connections() / LEAVING_PART);
    let leaving = Arc::new(Semaphore::new(most_leaving));
    loop {
        let most = admission.most_connections();
        // Those that make room keep their descriptors until their tasks have run.
        let has_descriptors = admission.connections.closing() <= most / LEAVING_PART;
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept(), if has_descriptors => match accepted {
                Ok((stream, _)) => {
                    let is_full = admission.connections.count() >= most;
                    match admission.connections.enter(most) {
                        Some(place) => {
                            let serving = serve_connection(gateway.clone(), stream, stop.clone(), place.into());
                            connections.spawn(serving);
                        }
                        None => turn_away(&gateway, stream, &leaving),
                    }
                    if is_full {
                        log_no_room(&gateway);
                    }
                }
                Err(_) => {
                    // Most often no descriptor is left.
                    admission.connections.close_stranger();
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
    let admission = &gateway.operation.admission;
    if admission.connections.is_line_due(Instant::now()) {
        let most = admission.most_connections();
        let text =
            format!("all {most} connections are taken: idle ones of strangers are closed, others get 503");
        gateway.upstreams.log("gateway", "warning", &text);
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
    place: Arc<ConnectionPermit>,
) {
    let limits = gateway.operation.admission.limits();
    // Without this, a small answer waits for the acknowledgement of the one before it (40 ms).
    let _ = stream.set_nodelay(true);
    let closed = place.closed.clone();
    let version = tokio::select! {
        () = stop.cancelled() => return,
        () = closed.cancelled() => return,
        version = tokio::time::timeout(limits.head_timeout, speaks_http2(&stream)) => version,
    };
    // Per-connection errors are ignored, here and below.
    let Ok(Ok(is_http2)) = version else {
        // Bytes that nobody read would turn the end into a reset.
        let _ = stream.try_read(&mut [0; PREFACE.len()]);
        return;
    };
    let stream = ClientSocket::new(stream, limits.write_timeout);
    let stalled = stream.is_stalled.clone();
    let service = service_fn(move |request| {
        let (gateway, place) = (gateway.clone(), place.clone());
        // Boxed: hyper keeps the place of this future for as long as the connection lives.
        async move { Ok::<_, Infallible>(Box::pin(reply(&gateway, request, &place)).await) }
    });
    if !is_http2 {
        let mut builder = http1::Builder::new();
        let head = limits.max_headers.max(SMALLEST_HEAD);
        builder.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_buf_size(head);
        let mut connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = &mut connection => return,
            () = closed.cancelled() => return,
            () = stop.cancelled() => Pin::new(&mut connection).graceful_shutdown(),
        }
        let _ = connection.await;
        return;
    }
    let streams = Drain::default();
    let executor = StreamExecutor { timeout: limits.write_timeout, streams: streams.clone() };
    let mut builder = http2::Builder::new(executor);
    let list_size = u32::try_from(limits.max_headers).unwrap_or(u32::MAX);
    builder.timer(TokioTimer::new()).max_header_list_size(list_size);
    // A client that is not there any more does not answer a ping.
    builder.keep_alive_interval(limits.head_timeout).keep_alive_timeout(limits.head_timeout);
    // Boxed: there are fewer of them than of HTTP/1.1, and they are larger.
    let mut connection = Box::pin(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = &mut connection => return,
        () = closed.cancelled() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = &mut connection => return,
        _ = streams.idle(Duration::MAX) => {}
    }
    // The end begins with a ping; a client that does not answer it must not hold up the gateway. But what was answered may
    // still have to be written.
    while tokio::time::timeout(LAST_PING, &mut connection).await.is_err() && stalled.load(Ordering::Relaxed) {
    }
}

/// Whether the first bytes of a client are those of HTTP/2. They are looked at and not read: hyper-util's `auto` reads them, gives
/// them back to hyper as a part of their own, and hyper's buffer doubles for the rest (8 KB of each connection).
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; PREFACE.len()];
    loop {
        let first = match stream.peek(&mut first).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => &first[..count],
        };
        if first == PREFACE || !PREFACE.starts_with(first) {
            return Ok(first == PREFACE);
        }
        // A part of it came alone. The socket stays readable, so nothing tells of the rest.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn reply(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    place: &ConnectionPermit,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let version = request.version();
    // A proxy may have read other ends of a chunked body than we have, above all if there is a Content-Length, too. What
    // follows on the connection must not be taken for a request.
    let is_chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let reply = answered(gateway, request, place).await.unwrap_or_else(|refusal| refusal);
    if reply.status.is_client_error() || reply.status.is_server_error() {
        // A refusal has a line too.
        gateway.log_written().await;
    }
    let body = match reply.body {
        ReplyBody::Whole(bytes) => Full::new(bytes).boxed_unsync(),
        ReplyBody::Events(events) => {
            BodyExt::boxed_unsync(StreamBody::new(events.map(|bytes| Ok(Frame::data(bytes)))))
        }
    };
    let mut response = Response::new(match version {
        Version::HTTP_2 => TimedBody::new(body).boxed_unsync(),
        _ => body,
    });
    *response.status_mut() = reply.status;
    response.headers_mut().extend(reply.headers);
    if is_chunked {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The body is read after the request was admitted: strangers cannot make the gateway read.
async fn answered(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    place: &ConnectionPermit,
) -> Result<HttpReply, HttpReply> {
    let (parts, body) = request.into_parts();
    let looked = place.look();
    let arriving = ArrivingRequest::admit(gateway.clone(), parts).await?;
    looked.is_caller();
    drop(looked);
    Ok(arriving.read(body).await?.answer().await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, C, D, F: Future>(_: fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_connection_is_small() {
        let bytes = size(serve_connection);
        assert!(bytes <= 3_000, "{bytes} bytes for each of thousands of listeners");
    }

    /// What is seen of a client that sends these parts, and what is left to be read.
    async fn seen(parts: &[&[u8]]) -> io::Result<(bool, Vec<u8>)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut client = TcpStream::connect(listener.local_addr()?).await?;
        client.set_nodelay(true)?;
        let (mut server, _) = listener.accept().await?;
        let (is_http2, _) = tokio::try_join!(speaks_http2(&server), async {
            for part in parts {
                client.write_all(part).await?;
                tokio::task::yield_now().await;
            }
            client.shutdown().await
        })?;
        let mut all = Vec::new();
        server.read_to_end(&mut all).await?;
        Ok((is_http2, all))
    }

    #[tokio::test]
    async fn the_first_bytes_decide_and_none_is_lost() {
        let whole = [PREFACE, b"rest"].concat();
        assert_eq!(seen(&[&whole]).await.unwrap(), (true, whole.clone()));
        assert_eq!(seen(&[&whole[..3], &whole[3..20], &whole[20..]]).await.unwrap(), (true, whole));
        for request in ["GET / HTTP/1.1\r\n\r\n", "POST /mcp HTTP/1.1\r\n\r\n", "PRI / HTTP/1.1\r\n\r\n"] {
            let request = request.as_bytes().to_vec();
            assert_eq!(seen(&[&request[..1], &request[1..]]).await.unwrap(), (false, request));
        }
        assert_eq!(seen(&[b""]).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
