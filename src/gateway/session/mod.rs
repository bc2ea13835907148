//! Sessions without a store: a session id is signed and carries all that the gateway needs to know of the session.
//!
//! ```text
//! id = base64url( payload ‖ HMAC-SHA256(key, payload) )      payload = JSON, a few hundred bytes
//! ```
//!
//! Any replica that has the key serves any request, and sessions take no memory beyond the few that were
//! verified lately. The first key signs, all of them are accepted, so that keys can be rotated. The key of each
//! purpose (session ids, the state of a question to the caller) is derived from the secret, so that a text of one
//! purpose never opens as one of another.
//!
//! `DELETE` ends a session on the replica that receives it, which remembers the id until it expires.

mod client_changes;
mod sealing;
mod tables;

pub use client_changes::{ClientChanges, ClientSubscriptions, MOST_RESOURCES, WantedLists, WantedTasks};
pub use tables::{GuardedTable, PrincipalTable, RunningRequest};

/// The sessions whose log level, and whose subscriptions, are kept at once.
const MOST_SESSIONS: usize = 10_000;
/// The sessions that were ended before they expired, at most about 4 MB of them.
const MOST_ENDED: usize = 50_000;

use crate::GatewayOptions;
use crate::http::ConnectedClient;
use crate::identity::invalid;
use base64::prelude::*;
use client_changes::SessionStreams;
use foldhash::quality::RandomState;
use parking_lot::RwLock;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sealing::SealingKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tables::RequestsInFlight;
use toolhub_protocol::LogLevel;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::sync::{Arc, Mutex};

/// How long a session lives unless the options say otherwise. A client whose session has expired gets 404 and starts another.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Shorter secrets can be guessed.
pub const SHORTEST_SECRET: usize = 32;

/// The sessions that are remembered as verified, mostly of a few hundred bytes each. When they are too many, all are forgotten.
const MOST_VERIFIED: usize = 1_000;
/// Longer texts are not of our making.
const LONGEST_ID: usize = 4096;
const TAG_LENGTH: usize = 32;
/// Why a session id or a state is refused. Clients see 404, or an error without the reason: it would help to forge one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRefusal {
    /// Not of our making, changed, or signed with a key that is not accepted any more.
    Forged,
    Expired,
    /// Ended by `DELETE`.
    Ended,
    /// Of another principal, or of another view.
    Foreign,
}

/// What is kept of the client's capabilities.
const LONGEST_CAPABILITIES: usize = 1024;
/// The capabilities of clients that change what the gateway does.
const KEPT_CAPABILITIES: [&str; 5] = ["elicitation", "sampling", "roots", "tasks", "extensions"];

/// What a session id carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionClaims {
    /// The negotiated protocol version.
    #[serde(rename = "v")]
    pub version: String,
    /// Those capabilities of the client that matter here.
    #[serde(rename = "c", default = "nothing", skip_serializing_if = "is_nothing")]
    pub capabilities: Arc<Value>,
    /// The id of the principal; empty for the anonymous one.
    #[serde(rename = "p", default, skip_serializing_if = "String::is_empty")]
    pub principal: String,
    /// The name of the view; empty for the one that shows everything.
    #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
    pub view: String,
    /// In seconds since 1970.
    #[serde(rename = "b")]
    pub issued: u64,
    #[serde(rename = "e")]
    pub expires: u64,
    /// Makes each id unique.
    #[serde(rename = "n", default)]
    nonce: String,
}

impl SessionClaims {
    /// The claims of a new session. Long or unknown parts of what the client says of itself are left out, because they
    /// travel in a header of every request.
    pub fn new(version: &str, capabilities: &Value, principal: &str, view: &str) -> Self {
        SessionClaims {
            version: version.to_owned(),
            capabilities: Arc::new(Value::Object(kept_capabilities(capabilities))),
            principal: principal.to_owned(),
            view: view.to_owned(),
            issued: 0,
            expires: 0,
            nonce: String::new(),
        }
    }
}

fn nothing() -> Arc<Value> {
    Arc::new(Value::Object(Map::new()))
}

fn is_nothing(value: &Value) -> bool {
    value.as_object().is_none_or(Map::is_empty)
}

fn kept_capabilities(given: &Value) -> Map<String, Value> {
    let known = |(name, value): (&String, &Value)| {
        let is_kept = KEPT_CAPABILITIES.contains(&name.as_str()) && !value.is_null();
        is_kept.then(|| (name.clone(), value.clone()))
    };
    let kept: Map<String, Value> = given.as_object().into_iter().flatten().filter_map(known).collect();
    let size = |map: &Map<String, Value>| serde_json::to_string(map).map_or(usize::MAX, |text| text.len());
    if size(&kept) <= LONGEST_CAPABILITIES {
        return kept;
    }
    kept.into_iter().map(|(name, _)| (name, Value::Object(Map::new()))).collect()
}

/// The first half of a signature.
type SessionMark = [u8; 16];

/// What an id with a valid signature carries.
#[derive(Debug, PartialEq)]
pub struct OpenSession {
    pub id: Arc<str>,
    pub claims: SessionClaims,
    mark: SessionMark,
    /// Until when its key is accepted, in seconds since 1970; `None` while the key is in use.
    accepted_until: Option<u64>,
}

/// The keys that come of one secret.
#[derive(Clone)]
struct SigningKey {
    session: hmac::Key,
    /// `None` never happens: the bytes have the length that the cipher wants.
    state: Option<SealingKey>,
    /// In seconds since 1970; `None` while the secret is in use.
    accepted_until: Option<u64>,
}

impl SigningKey {
    fn new(secret: &[u8]) -> Self {
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let signed = |label: &[u8]| hmac::sign(&root, label);
        SigningKey {
            session: hmac::Key::new(hmac::HMAC_SHA256, signed(b"toolhub session 1").as_ref()),
            state: SealingKey::new("request state", signed),
            accepted_until: None,
        }
    }
}

/// The keys of a gateway: the first one signs, all are accepted.
pub struct SessionKeys {
    keys: RwLock<Vec<SigningKey>>,
    /// Sessions that these keys have verified lately, by their ids.
    verified: Mutex<HashMap<Arc<str>, Arc<OpenSession>, RandomState>>,
}

impl SessionKeys {
    /// A key of this process alone: its sessions end with it, and other replicas refuse them.
    pub fn random() -> Result<Self> {
        Ok(SessionKeys::of(vec![SigningKey::new(&random::<32>()?)]))
    }

    /// The keys of these secrets, which replicas share. The first one signs.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let keys: Vec<SigningKey> = secrets.into_iter().map(checked).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return SessionKeys::random();
        }
        Ok(SessionKeys::of(keys))
    }

    fn of(keys: Vec<SigningKey>) -> Self {
        SessionKeys { keys: RwLock::new(keys), verified: Mutex::default() }
    }

    /// Signs with a key of this secret from now on. What the older keys have signed is accepted for `grace` more.
    pub fn rotate(&self, secret: &str, grace: Duration, now: SystemTime) -> Result<()> {
        let key = checked(secret)?;
        let (now, until) = (seconds(now), end_of(now, grace));
        let mut keys = self.keys.write();
        for old in keys.iter_mut() {
            old.accepted_until = Some(old.accepted_until.map_or(until, |earlier| earlier.min(until)));
        }
        keys.retain(|old| old.accepted_until.is_none_or(|until| until > now));
        keys.insert(0, key);
        self.verified.lock().clear();
        Ok(())
    }

    fn seal(&self, payload: &[u8]) -> String {
        let keys = self.keys.read();
        let mut sealed = payload.to_vec();
        // There is always a key: both ways to make this have at least one, and rotating adds one.
        if let Some(key) = keys.first() {
            sealed.extend_from_slice(hmac::sign(&key.session, payload).as_ref());
        }
        BASE64_URL_SAFE_NO_PAD.encode(sealed)
    }

    pub fn seal_state(&self, place: &[&str], content: &[u8]) -> Option<String> {
        self.keys.read().first()?.state.as_ref()?.seal(place, content)
    }

    /// The content of a state that was sealed for the same place.
    pub fn open_state(&self, place: &[&str], state: &str, now: SystemTime) -> Option<Vec<u8>> {
        let (keys, now) = (self.keys.read(), seconds(now));
        let mut accepted = keys.iter().filter(|key| key.accepted_until.is_none_or(|until| until > now));
        accepted.find_map(|key| key.state.as_ref()?.open(place, state))
    }

    /// The session of an id that one of the keys has signed.
    fn open(&self, id: &str, now: u64) -> Result<Arc<OpenSession>, SessionRefusal> {
        if let Some(session) = self.verified.lock().get(id)
            && session.accepted_until.is_none_or(|until| until > now)
        {
            return Ok(session.clone());
        }
        let payload = BASE64_URL_SAFE_NO_PAD.decode(id).map_err(|_| SessionRefusal::Forged)?;
        let (payload, tag) = payload.split_last_chunk::<TAG_LENGTH>().ok_or(SessionRefusal::Forged)?;
        let keys = self.keys.read();
        let mut accepted = keys.iter().filter(|key| key.accepted_until.is_none_or(|until| until > now));
        // `verify` compares in constant time.
        let key = accepted.find(|key| hmac::verify(&key.session, payload, tag).is_ok());
        let accepted_until = key.ok_or(SessionRefusal::Forged)?.accepted_until;
        let claims: SessionClaims = serde_json::from_slice(payload).map_err(|_| SessionRefusal::Forged)?;
        let mut mark = SessionMark::default();
        mark.copy_from_slice(&tag[..16]);
        let session = Arc::new(OpenSession { id: Arc::from(id), claims, mark, accepted_until });
        // The keys are still locked: a rotation forgets it too.
        let mut verified = self.verified.lock();
        if verified.len() >= MOST_VERIFIED {
            verified.clear();
        }
        verified.insert(session.id.clone(), session.clone());
        drop((verified, keys));
        Ok(session)
    }
}

fn checked(secret: &str) -> Result<SigningKey> {
    if secret.len() < SHORTEST_SECRET {
        return invalid(message!(
            "session_keys entries need at least {} random characters.",
            SHORTEST_SECRET
        ));
    }
    Ok(SigningKey::new(secret.as_bytes()))
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_random())?;
    Ok(bytes)
}

pub(super) fn no_random() -> HubError {
    HubError::new(ErrorKind::Auth, "Could not read random bytes from the OS.")
}

pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The second in which a span that begins now is over: never before its end, and at once if it is empty.
pub(super) fn end_of(now: SystemTime, span: Duration) -> u64 {
    let begun = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let end = begun.saturating_add(span);
    end.as_secs().saturating_add(u64::from(!span.is_zero() && end.subsec_nanos() > 0))
}

/// What a replica knows of the sessions of its clients, and their ids.
pub struct Sessions {
    pub keys: Arc<SessionKeys>,
    lifetime: Duration,
    /// Those that `DELETE` ended before they expired, by the second in which they do.
    ended: Mutex<PrincipalTable<(u64, SessionMark), ()>>,
    /// The log levels that legacy clients have set. As the subscriptions, they are kept by the replica that was asked.
    pub levels: Mutex<PrincipalTable<Arc<str>, LogLevel>>,
    /// The resources that legacy clients have subscribed to.
    pub subscriptions: Mutex<PrincipalTable<Arc<str>, ClientSubscriptions>>,
    pub streams: SessionStreams,
    /// The requests of clients with a session or a pipe.
    pub in_flight: RequestsInFlight,
    /// Clients of the transport HTTP+SSE that are connected, by an id that only the client knows.
    pub sse_clients: GuardedTable<String, ConnectedClient>,
}

impl Sessions {
    pub fn new(options: &GatewayOptions) -> Result<Self> {
        let keys = match &options.session_keys {
            Some(keys) => keys.clone(),
            None => Arc::new(SessionKeys::random()?),
        };
        Ok(Sessions {
            keys,
            lifetime: options.session_lifetime,
            ended: Mutex::new(PrincipalTable::new(MOST_ENDED)),
            levels: Mutex::new(PrincipalTable::new(MOST_SESSIONS)),
            subscriptions: Mutex::new(PrincipalTable::new(MOST_SESSIONS)),
            streams: SessionStreams::default(),
            in_flight: RequestsInFlight::default(),
            sse_clients: GuardedTable::default(),
        })
    }

    /// The id of a new session: visible ASCII that fits into a header.
    pub fn seal(&self, mut claims: SessionClaims, now: SystemTime) -> Result<String> {
        claims.nonce = BASE64_URL_SAFE_NO_PAD.encode(random::<9>()?);
        claims.issued = seconds(now);
        claims.expires = end_of(now, self.lifetime);
        let payload = serde_json::to_vec(&claims)
            .map_err(|error| HubError::new(ErrorKind::Protocol, error.to_string()))?;
        Ok(self.keys.seal(&payload))
    }

    /// Ends a session, as `DELETE` asks, and returns how long it has lived. Other replicas accept its id until it expires.
    pub fn end(
        &self,
        id: &str,
        principal: &str,
        view: &str,
        now: SystemTime,
    ) -> Result<Duration, SessionRefusal> {
        let session = self.open(id, principal, view, now)?;
        let claims = &session.claims;
        let mut ended = self.ended.lock();
        if ended.is_full() {
            ended.retain(|(expires, _), ()| *expires > seconds(now));
        }
        ended.insert(principal, (claims.expires, session.mark), ());
        Ok(Duration::from_secs(seconds(now).saturating_sub(claims.issued)))
    }

    /// A session that lives and belongs to this principal and view.
    pub fn open(
        &self,
        id: &str,
        principal: &str,
        view: &str,
        now: SystemTime,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        if id.len() > LONGEST_ID {
            return Err(SessionRefusal::Forged);
        }
        let now = seconds(now);
        let session = self.keys.open(id, now)?;
        let claims = &session.claims;
        if claims.expires <= now {
            return Err(SessionRefusal::Expired);
        }
        if claims.principal != principal || claims.view != view {
            return Err(SessionRefusal::Foreign);
        }
        if self.ended.lock().get(principal, &(claims.expires, session.mark)).is_some() {
            return Err(SessionRefusal::Ended);
        }
        Ok(session)
    }

    /// The name of the lowest log level that a client has set.
    pub fn lowest_level(&self) -> Option<&'static str> {
        self.levels.lock().values().min().map(|level| level.name())
    }

    /// What the client of a session has subscribed to.
    pub fn subscriptions_of(&self, principal: &str, session: &Arc<str>) -> ClientSubscriptions {
        let mut all = self.subscriptions.lock();
        if let Some(known) = all.get(principal, &**session) {
            return known.clone();
        }
        let new = ClientSubscriptions::default();
        let gone = all.insert(principal, session.clone(), new.clone());
        drop(all);
        drop(gone);
        new
    }
}

#[cfg(test)]
mod tests;
