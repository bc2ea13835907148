//! The HTTP library as this transport needs it: it follows no redirect, tries nothing again by itself, unpacks gzip while it
//! is read, and takes proxies from the environment, but not for this machine.
//!
//! ```text
//! http://, no proxy in between ─► hyper's pooled client ─┐
//! TLS or a proxy               ─► reqwest               ─┴─► HttpResponse
//! ```
//!
//! reqwest is the same pooled client below layers for redirects, retries and cookies, none of which is used here. They read
//! the URL three times a request, which made up a fifth of the work of a call through the gateway.

use super::unbroken::{CountingConnector, IDLE, OpenConnections};
use crate::mcp::transport::SendStage;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::Client as PooledClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest::Url;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use toolhub_protocol::net::{self, sources};
use toolhub_text::{Message, message};
use tower_http::decompression::Decompression;
use tower_service::Service;

/// A connection whose other end is gone without a word is noticed after a minute, and after half of that if something was
/// sent. The same as in reqwest.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Each remote has its own: when the remote goes, its idle connections go with it.
pub(super) struct HttpClient {
    way: ClientWay,
    /// The connections to the server. reqwest does not show them: there, those of the last request count as open until they
    /// would be closed for idleness, or until a request fails.
    pub open: OpenConnections,
}

enum ClientWay {
    Plain(PooledClient<CountingConnector, OutgoingBody>),
    Full(reqwest::Client),
}

/// A client for this URL, and the headers that its user and password make.
pub(super) fn client(url: &Url) -> Result<(HttpClient, HeaderMap), String> {
    let builder =
        net::builder().retry(reqwest::retry::never()).tcp_nodelay(true).gzip(true).pool_idle_timeout(IDLE);
    let builder = if net::needs_no_proxy(url) { builder.no_proxy() } else { builder };
    let full = net::build(builder, url.scheme() == "http")?;
    let headers = full.get(url.clone()).build().map_err(|error| net::reason(&error))?;
    let headers = headers.headers().clone();
    let open = OpenConnections::default();
    let way = if is_direct(url) { ClientWay::Plain(plain(open.clone())) } else { ClientWay::Full(full) };
    Ok((HttpClient { way, open }, headers))
}

/// Whether a request for this URL goes to its server in plain HTTP, without a proxy.
fn is_direct(url: &Url) -> bool {
    let is_proxied = |uri: Uri| Matcher::from_system().intercept(&uri).is_some();
    url.scheme() == "http"
        && (net::needs_no_proxy(url) || url.as_str().parse().is_ok_and(|uri| !is_proxied(uri)))
}

fn plain(open: OpenConnections) -> PooledClient<CountingConnector, OutgoingBody> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    PooledClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(CountingConnector { connector, open })
}

impl HttpClient {
    /// Sends a request and waits for the head of the response.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: OutgoingBody,
    ) -> Result<HttpResponse, ExchangeError> {
        match &self.way {
            ClientWay::Plain(client) => {
                let mut request = Request::new(body);
                *request.method_mut() = method;
                *request.uri_mut() =
                    Uri::try_from(url.as_str()).map_err(|error| ExchangeError::from(Box::from(error)))?;
                *request.headers_mut() = headers;
                let agent = || header::HeaderValue::from_static(net::USER_AGENT);
                request.headers_mut().entry(header::USER_AGENT).or_insert_with(agent);
                let response = Decompression::new(client).call(request).await?;
                Ok(HttpResponse::new(response))
            }
            ClientWay::Full(client) => {
                let mut request = reqwest::Request::new(method, url.clone());
                *request.headers_mut() = headers;
                if !body.is_end_stream() {
                    *request.body_mut() = Some(reqwest::Body::wrap(body));
                }
                let begun = self.open.begun();
                let response = client.execute(request).await;
                begun.keep();
                let response = response.inspect_err(|_| self.open.broken())?;
                Ok(HttpResponse::new(http::Response::<reqwest::Body>::from(response)))
            }
        }
    }
}

/// The head of a response, and its body as it comes.
pub(crate) struct HttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: BoxBody<Bytes, ExchangeError>,
    /// Where it came from, when the request was redirected.
    pub moved: Option<Url>,
}

impl HttpResponse {
    fn new<B>(response: http::Response<B>) -> Self
    where
        B: Body<Data = Bytes> + Send + Sync + 'static,
        ExchangeError: From<B::Error>,
    {
        let (head, body) = response.into_parts();
        let body = body.map_err(ExchangeError::from).boxed();
        HttpResponse { status: head.status, headers: head.headers, body, moved: None }
    }

    /// The length that the server announced, unless the body is packed.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next bytes of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ExchangeError> {
        while let Some(frame) = self.body.frame().await {
            // What is not data are trailers, which nobody reads.
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

/// Why an exchange broke, in the words of the HTTP library.
pub(crate) struct ExchangeError {
    error: Box<dyn Error + Send + Sync>,
    /// There was no connection yet, so nothing was sent.
    pub(crate) is_connect: bool,
}

impl From<reqwest::Error> for ExchangeError {
    fn from(error: reqwest::Error) -> Self {
        // The URL may have secrets in its query.
        ExchangeError { is_connect: error.is_connect(), error: Box::new(error.without_url()) }
    }
}

impl From<hyper_util::client::legacy::Error> for ExchangeError {
    fn from(error: hyper_util::client::legacy::Error) -> Self {
        ExchangeError { is_connect: error.is_connect(), error: Box::new(error) }
    }
}

impl From<Box<dyn Error + Send + Sync>> for ExchangeError {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        ExchangeError { is_connect: false, error }
    }
}

impl ExchangeError {
    /// The innermost reason, which says what happened.
    pub(crate) fn reason(&self) -> Message {
        let is = |kind| self.io_errors().any(|error| error.kind() == kind);
        let text = self.errors().last().map(ToString::to_string).unwrap_or_default();
        match text.strip_prefix("invalid peer certificate: ") {
            _ if is(io::ErrorKind::ConnectionRefused) => "connection refused".into(),
            _ if is(io::ErrorKind::UnexpectedEof) => "the server closed it".into(),
            Some(why) => message!("its TLS certificate is not trusted: {}", why),
            // The words of rustls.
            None if text.contains("InvalidContentType") => "there is no TLS at this address".into(),
            None => text.into(),
        }
    }

    /// Whether the bytes of the body made no sense. The system has names for lost connections; these kinds are for chunks
    /// and compressed bytes that cannot be read.
    pub(crate) fn is_malformed(&self) -> bool {
        use io::ErrorKind::{InvalidData, InvalidInput, Other};
        self.io_errors().any(|error| matches!(error.kind(), InvalidData | InvalidInput | Other))
    }

    fn io_errors(&self) -> impl Iterator<Item = &io::Error> {
        self.errors().filter_map(|source| source.downcast_ref::<io::Error>())
    }

    /// From the outside in.
    fn errors(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let outermost: &(dyn Error + 'static) = &*self.error;
        std::iter::once(outermost).chain(sources(outermost))
    }
}

/// The body of a request, which knows the moment at which it leaves.
///
/// The HTTP library asks for the body when it has a connection and has encoded the head of the request, before it writes
/// either. While it resolves a name, connects, agrees on TLS or waits for a connection of the pool, nothing has left.
#[derive(Clone, Default)]
pub(crate) struct OutgoingBody {
    bytes: Bytes,
    /// `None`: nobody asks whether it left.
    stage: Option<Arc<SendStage>>,
    /// It leaves only while this is how often the way to the server was interrupted.
    breaks: Option<(OpenConnections, u64)>,
}

impl OutgoingBody {
    pub(crate) fn of_request(text: &str, stage: &Arc<SendStage>) -> Self {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        OutgoingBody { bytes, stage: Some(stage.clone()), breaks: None }
    }

    /// The same, for the program only that answered when the way had been interrupted so often.
    pub(super) fn unless_interrupted(self, connections: &OpenConnections, breaks: Option<u64>) -> Self {
        OutgoingBody { breaks: breaks.map(|breaks| (connections.clone(), breaks)), ..self }
    }

    /// A message that expects no answer.
    pub(crate) fn of_message(text: String) -> Self {
        OutgoingBody { bytes: text.into(), ..OutgoingBody::default() }
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        // The head of a request that was withdrawn is dropped with its connection.
        let is_unbroken =
            self.breaks.as_ref().is_none_or(|(connections, breaks)| connections.breaks() == *breaks);
        let may_leave = is_unbroken && self.stage.as_ref().is_none_or(|stage| stage.leave());
        let withdrawn = || io::Error::from(io::ErrorKind::ConnectionAborted);
        Poll::Ready(Some(if may_leave { Ok(Frame::data(bytes)) } else { Err(withdrawn()) }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
