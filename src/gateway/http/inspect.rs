//! The inspector of a served hub: `/inspect`, and below it what only its operator may see. Calls of its page go to the MCP
//! endpoint, as those of any client.

use crate::Gateway;
use crate::http::{HttpReply, is_from_this_machine};
use crate::inspector::{ServedPage, served_page};
use crate::operate::{AuditEvent, AuditRecord, OK};
use crate::rpc::RpcError;
use crate::session::random;
use crate::state::INSPECTOR;
use base64::prelude::*;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};
use tokio::sync::oneshot;
use toolhub_protocol::net::unmapped;
use toolhub_store::ledger::LedgerDone;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, Result};

/// Who decides about calls on the page, in the audit log. Callers have a prefix and a colon.
const OPERATOR: &str = "operator";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InspectRoute {
    Page,
    Servers,
    Calls,
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
    let found = match path.strip_prefix(INSPECTOR)? {
        "" => InspectRoute::Page,
        "/servers" => InspectRoute::Servers,
        "/calls" => InspectRoute::Calls,
        "/approvals" => InspectRoute::Approvals,
        _ => return None,
    };
    (!gateway.is_endpoint(path)).then_some(found)
}

/// Refuses a request that may not be answered.
pub fn check(gateway: &Gateway, route: InspectRoute, parts: &Parts) -> Result<(), HttpReply> {
    let (is_local, is_closed) =
        (gateway.identity.inspector.is_local(), gateway.identity.authenticator.load().is_closed());
    if !gateway.has_inspector() {
        return Err(HttpReply::empty(StatusCode::NOT_FOUND));
    }
    let is_free = match route {
        InspectRoute::Page => true,
        InspectRoute::Servers | InspectRoute::Calls => is_local && !is_closed && is_from_this_machine(parts),
        InspectRoute::Approvals => false,
    };
    if is_free || gateway.identity.inspector.shows_key(&parts.headers) {
        return Ok(());
    }
    let text =
        message!("This needs the inspector's key: open the address that was shown when the server started");
    Err(refused(gateway, StatusCode::FORBIDDEN, &text))
}

pub async fn serve(gateway: &Arc<Gateway>, route: InspectRoute, parts: &Parts, body: &Bytes) -> HttpReply {
    match (route, &parts.method) {
        (InspectRoute::Page, &Method::GET) => page(gateway),
        (InspectRoute::Servers, &Method::GET) => data(&json!({"servers": gateway.upstreams.server_states()})),
        (InspectRoute::Calls, &Method::GET) => calls(gateway, parts),
        (InspectRoute::Approvals, &Method::GET) => pending(gateway).await,
        (InspectRoute::Approvals, &Method::POST) => decide(gateway, body).await,
        (InspectRoute::Approvals, _) => HttpReply::not_allowed("GET, POST"),
        _ => HttpReply::not_allowed("GET"),
    }
}

fn page(gateway: &Gateway) -> HttpReply {
    let options = &gateway.options;
    let new = || served_page(&options.name, &options.path, gateway.hub.options.lang);
    let page = gateway.identity.inspector.page.get_or_init(new);
    let policy = HeaderValue::try_from(&page.policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    private(HttpReply::of(StatusCode::OK, "text/html; charset=utf-8", page.html.clone()))
        .with(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .with(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}

fn data(value: &Value) -> HttpReply {
    private(HttpReply::json(StatusCode::OK, value.to_string()))
}

/// The last calls; with `?after=N` only if something has changed since the answer that had this number.
fn calls(gateway: &Gateway, parts: &Parts) -> HttpReply {
    let query = parts.uri.query().unwrap_or_default();
    let after = query.split('&').find_map(|part| part.strip_prefix("after=")?.parse().ok());
    private(HttpReply::json(StatusCode::OK, gateway.operation.live.changes(after)))
}

/// Not to be kept by caches, and to be taken for what it says.
fn private(reply: HttpReply) -> HttpReply {
    reply
        .with(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .with(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
}

/// What the ledger answers, or why it cannot be used.
async fn of_ledger<T: Send + 'static>(ask: impl FnOnce(LedgerDone<T>)) -> Result<T, Message> {
    let (sender, receiver) = oneshot::channel();
    ask(Box::new(move |answer| drop(sender.send(answer))));
    receiver.await.unwrap_or_else(|_| Err("it is closed".into())).map_err(|problem| problem.why())
}

async fn pending(gateway: &Gateway) -> HttpReply {
    match of_ledger(|done| gateway.hub.ledger().pending(None, done)).await {
        Ok(rows) => data(&json!({"pending": rows})),
        Err(why) => unusable(gateway, &why),
    }
}

async fn decide(gateway: &Gateway, body: &Bytes) -> HttpReply {
    let Ok(decision) = serde_json::from_slice::<ApprovalDecision>(body) else {
        let text = message!("Expected a JSON object with `id` (text) and `approve` (true or false)");
        return refused(gateway, StatusCode::BAD_REQUEST, &text);
    };
    let (begun, time) = (Instant::now(), SystemTime::now());
    let (id, verdict) = (decision.id.clone(), (decision.approve, decision.reason.clone()));
    let decided = of_ledger(|done| gateway.hub.ledger().decide(id, None, verdict, done)).await;
    let failure = match &decided {
        Ok(Ok(())) => None,
        Ok(Err(_)) => Some(ErrorKind::NotFound),
        Err(_) => Some(ErrorKind::Limit),
    };
    if let Some(audit) = &gateway.options.audit {
        let event = AuditEvent::Approval { id: &decision.id, is_approved: decision.approve };
        let record = AuditRecord::new(time, OPERATOR, event, failure.map_or(OK, ErrorKind::name));
        // What is not in the log must not look as if it were.
        if let Err(error) = audit.begin(&AuditRecord { duration: begun.elapsed(), ..record }).await {
            return refused(gateway, StatusCode::SERVICE_UNAVAILABLE, &error.message);
        }
    }
    match decided {
        Ok(Ok(())) => data(&json!({"decided": true})),
        Ok(Err(refusal)) => refused(gateway, StatusCode::NOT_FOUND, &refusal),
        Err(why) => unusable(gateway, &why),
    }
}

fn unusable(gateway: &Gateway, why: &Message) -> HttpReply {
    let text = message!("The ledger in the store cannot be used ({})", why.clone());
    refused(gateway, StatusCode::SERVICE_UNAVAILABLE, &text)
}

/// A person reads it, so it is in the language of the hub.
fn refused(gateway: &Gateway, status: StatusCode, message: &Message) -> HttpReply {
    let text = message.text(gateway.hub.options.lang);
    HttpReply::refused(status, &RpcError::invalid_request(text.into_owned()))
}

// Who may look into a served hub.
//
// The page itself has no data. It is given where a stranger cannot reach it: on this machine, or where credentials are asked for.
// What belongs to the operator (servers, calls, approvals) needs a key that is made at the start and told to the operator alone: a client,
// or a tool that can fetch addresses, must not approve its own calls. The servers and the last calls, which are not secret for
// somebody who may call everything, are also shown on this machine where no credentials are asked for; not to those for whom a
// proxy on this machine asks, whose requests have its public name as `Host`.

/// In which the page sends the key.
const KEY_HEADER: &str = "toolhub-inspect-key";

pub struct InspectorAccess {
    /// The key of the operator.
    pub key: String,
    is_local: AtomicBool,
    page: OnceLock<ServedPage>,
}

impl InspectorAccess {
    /// Fails when the OS gives no random bytes.
    pub fn new() -> Result<Self> {
        let key = BASE64_URL_SAFE_NO_PAD.encode(random::<18>()?);
        Ok(InspectorAccess { key, is_local: AtomicBool::new(false), page: OnceLock::new() })
    }

    /// The address that the gateway listens on. Without one, as below another server, it counts as open to a network.
    pub fn listens_on(&self, address: IpAddr) {
        self.is_local.store(unmapped(address).is_loopback(), Ordering::Relaxed);
    }

    /// Whether only this machine can reach the gateway.
    pub fn is_local(&self) -> bool {
        self.is_local.load(Ordering::Relaxed)
    }

    pub fn shows_key(&self, headers: &HeaderMap) -> bool {
        // Digests are compared, so that the time tells nothing about the key.
        let hash = |text: &[u8]| digest(&SHA256, text);
        let given = headers.get(KEY_HEADER).map(|given| hash(given.as_bytes()));
        given.is_some_and(|given| given.as_ref() == hash(self.key.as_bytes()).as_ref())
    }
}
