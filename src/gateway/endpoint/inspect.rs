//! The inspector of a served hub: `/inspect`, and below it what only its operator may see. Calls of its page go to the MCP
//! endpoint, as those of any client.

use super::reply::{HttpReply, ReplyBody};
use crate::gateway::rpc::RpcError;
use crate::gateway::state::Gateway;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::oneshot;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InspectRoute {
    Page,
    Servers,
    Approvals,
}

/// A decision about a call that waits.
#[derive(Deserialize)]
struct ApprovalDecision {
    id: String,
    approve: bool,
    reason: Option<String>,
}

/// The route of a path; the MCP endpoint comes first if it has the same one.
pub fn route(gateway: &Gateway, path: &str) -> Option<InspectRoute> {
    let rest = path.strip_prefix("/inspect")?;
    let found = match rest {
        "" => InspectRoute::Page,
        "/servers" => InspectRoute::Servers,
        "/approvals" => InspectRoute::Approvals,
        _ => return None,
    };
    let is_endpoint = match &*gateway.options.path {
        "/" => gateway.views.load().named("inspect").is_some(),
        base => path.starts_with(base),
    };
    (!is_endpoint).then_some(found)
}

/// Refuses a request that may not be answered.
pub fn check(gateway: &Gateway, route: InspectRoute, parts: &Parts) -> Result<(), HttpReply> {
    let (is_local, is_closed) = (gateway.inspector.is_local(), gateway.authenticator.load().is_closed());
    if !is_local && !is_closed {
        return Err(HttpReply::empty(StatusCode::NOT_FOUND));
    }
    let is_free = match route {
        InspectRoute::Page => true,
        InspectRoute::Servers => is_local && !is_closed,
        InspectRoute::Approvals => false,
    };
    if is_free || gateway.inspector.shows_key(&parts.headers) {
        return Ok(());
    }
    let text = "This needs the key of the inspector: open the address that was shown when the server started";
    Err(HttpReply::refused(StatusCode::FORBIDDEN, &RpcError::invalid_request(text)))
}

pub async fn serve(gateway: &Arc<Gateway>, route: InspectRoute, parts: &Parts, body: &Bytes) -> HttpReply {
    match (route, &parts.method) {
        (InspectRoute::Page, &Method::GET) => page(gateway),
        (InspectRoute::Servers, &Method::GET) => data(&json!({"servers": gateway.upstreams.server_states()})),
        (InspectRoute::Approvals, &Method::GET) => pending(gateway).await,
        (InspectRoute::Approvals, &Method::POST) => decide(gateway, body).await,
        (InspectRoute::Approvals, _) => not_allowed("GET, POST"),
        _ => not_allowed("GET"),
    }
}

fn page(gateway: &Gateway) -> HttpReply {
    let page = gateway.inspector.page(&gateway.options.name, &gateway.options.path);
    let body = ReplyBody::Whole(Bytes::from(page.html.clone()));
    let reply = HttpReply { status: StatusCode::OK, headers: Vec::new(), body, is_standing: false };
    let policy = HeaderValue::try_from(&page.policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    private(reply)
        .with(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))
        .with(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .with(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}

fn data(value: &Value) -> HttpReply {
    private(HttpReply::json(StatusCode::OK, value.to_string()))
}

/// Not to be kept by caches, and to be taken for what it says.
fn private(reply: HttpReply) -> HttpReply {
    const NO_SNIFF: HeaderName = header::X_CONTENT_TYPE_OPTIONS;
    reply
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with(NO_SNIFF, HeaderValue::from_static("nosniff"))
}

async fn pending(gateway: &Gateway) -> HttpReply {
    let (sender, receiver) = oneshot::channel();
    gateway.hub.ledger().pending(None, Box::new(move |rows| drop(sender.send(rows))));
    match receiver.await {
        Ok(Ok(rows)) => data(&json!({"pending": rows})),
        Ok(Err(why)) => unusable(&why),
        Err(_) => unusable("it is closed"),
    }
}

async fn decide(gateway: &Gateway, body: &Bytes) -> HttpReply {
    let Ok(decision) = serde_json::from_slice::<ApprovalDecision>(body) else {
        let text = "Expected a JSON object with `id` (text) and `approve` (true or false)";
        return HttpReply::refused(StatusCode::BAD_REQUEST, &RpcError::invalid_request(text));
    };
    let (sender, receiver) = oneshot::channel();
    let done = Box::new(move |decided| drop(sender.send(decided)));
    gateway.hub.ledger().decide(decision.id, None, (decision.approve, decision.reason), done);
    match receiver.await {
        Ok(Ok(true)) => data(&json!({"decided": true})),
        Ok(Ok(false)) => {
            let text = "No call with this id waits; it was decided about, or it has expired";
            HttpReply::refused(StatusCode::NOT_FOUND, &RpcError::invalid_request(text))
        }
        Ok(Err(why)) => unusable(&why),
        Err(_) => unusable("it is closed"),
    }
}

fn unusable(why: &str) -> HttpReply {
    let error = RpcError::invalid_request(format!("The ledger in the store cannot be used ({why})"));
    HttpReply::refused(StatusCode::SERVICE_UNAVAILABLE, &error)
}

fn not_allowed(allowed: &'static str) -> HttpReply {
    HttpReply::empty(StatusCode::METHOD_NOT_ALLOWED).with(header::ALLOW, HeaderValue::from_static(allowed))
}
