//! The HTTP endpoint on sockets.

use super::http::handle;
use super::reply::{HttpReply, ReplyBody};
use crate::gateway::state::Gateway;
use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response, StatusCode};
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
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves connections until the gateway stops. Requests that are running then are answered.
pub async fn serve_http(gateway: Arc<Gateway>, listener: TcpListener) {
    let stop = gateway.stop.clone();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(gateway.clone(), stream, stop.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve_connection(gateway: Arc<Gateway>, stream: TcpStream, stop: CancellationToken) {
    // Without this, a small answer waits for the acknowledgement of the one before it (40 ms).
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { Ok::<_, Infallible>(reply(&gateway, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
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
    let reply = match body_of(body, gateway.options.max_body).await {
        Ok(body) => handle(gateway, &parts, body).await,
        Err(refusal) => refusal,
    };
    let mut response = Response::new(match reply.body {
        ReplyBody::Whole(bytes) => Full::new(bytes).boxed_unsync(),
        ReplyBody::Events(events) => {
            BodyExt::boxed_unsync(StreamBody::new(events.map(|bytes| Ok(Frame::data(bytes)))))
        }
    });
    *response.status_mut() = reply.status;
    response.headers_mut().extend(reply.headers);
    response
}

async fn body_of(body: Incoming, limit: usize) -> Result<Bytes, HttpReply> {
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(HttpReply::too_large()),
        Err(_) => Err(HttpReply::empty(StatusCode::BAD_REQUEST)),
    }
}
