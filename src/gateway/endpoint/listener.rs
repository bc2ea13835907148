//! The HTTP endpoint on sockets.

use super::admit::admit;
use super::http::serve;
use super::reply::{HttpReply, ReplyBody};
use super::write_timeout::WriteTimeout;
use crate::gateway::limits::ConnectionPlace;
use crate::gateway::state::Gateway;
use bytes::Bytes;
use futures_util::StreamExt;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// After a failed accept, such as one for which no file descriptor was left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The least that hyper reads the head of a request into.
const SMALLEST_HEAD: usize = 8192;
/// What a client gets for whose connection there is no room.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Serves connections until the gateway stops. Requests that are running then are answered.
pub async fn serve_http(gateway: Arc<Gateway>, listener: TcpListener) {
    let stop = gateway.stop.clone();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match gateway.admission.connect() {
                    Some(place) => {
                        connections.spawn(serve_connection(gateway.clone(), stream, stop.clone(), place));
                    }
                    None => turn_away(&gateway, stream),
                },
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Says that there is no room, as far as the socket takes it at once, and closes the connection.
fn turn_away(gateway: &Gateway, stream: TcpStream) {
    gateway.metrics.refused(StatusCode::SERVICE_UNAVAILABLE.as_u16());
    if let Ok(mut stream) = stream.into_std() {
        let _ = std::io::Write::write(&mut stream, NO_ROOM);
    }
}

async fn serve_connection(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    stop: CancellationToken,
    _place: ConnectionPlace,
) {
    let limits = *gateway.admission.limits();
    // Without this, a small answer waits for the acknowledgement of the one before it (40 ms).
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { Ok::<_, Infallible>(reply(&gateway, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let head = limits.max_headers.max(SMALLEST_HEAD);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_buf_size(head);
    let list_size = u32::try_from(limits.max_headers).unwrap_or(u32::MAX);
    builder.http2().timer(TokioTimer::new()).max_header_list_size(list_size);
    let stream = WriteTimeout::new(stream, limits.write_timeout);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // What a client did to its own connection is of no concern to others.
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn reply(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    let (parts, body) = request.into_parts();
    // A proxy may have read other ends of a chunked body than we have, above all if there is a Content-Length, too. What
    // follows on the connection must not be taken for a request.
    let is_chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
    let reply = answered(gateway, &parts, body).await.unwrap_or_else(|refusal| refusal);
    let mut response = Response::new(match reply.body {
        ReplyBody::Whole(bytes) => Full::new(bytes).boxed_unsync(),
        ReplyBody::Events(events) => {
            BodyExt::boxed_unsync(StreamBody::new(events.map(|bytes| Ok(Frame::data(bytes)))))
        }
    });
    *response.status_mut() = reply.status;
    response.headers_mut().extend(reply.headers);
    if is_chunked {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The body is read after the request was admitted: strangers cannot make the gateway read.
async fn answered(gateway: &Arc<Gateway>, parts: &Parts, body: Incoming) -> Result<HttpReply, HttpReply> {
    let admitted = admit(gateway, parts).await?;
    let limit = gateway.admission.limits().body_timeout;
    let read = tokio::time::timeout(limit, body_of(body, gateway.options.max_body)).await;
    let body = read.unwrap_or_else(|_| Err(HttpReply::empty(StatusCode::REQUEST_TIMEOUT)));
    let body = body.inspect_err(|reply| gateway.metrics.refused(reply.status.as_u16()))?;
    Ok(serve(gateway, admitted, parts, body).await)
}

async fn body_of(body: Incoming, limit: usize) -> Result<Bytes, HttpReply> {
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(HttpReply::too_large()),
        Err(_) => Err(HttpReply::empty(StatusCode::BAD_REQUEST)),
    }
}
