//! Who may look into a served hub.
//!
//! The page itself has no data. It is given where a stranger cannot reach it: on this machine, or where credentials are asked for.
//! What belongs to the operator (servers, calls, approvals) needs a key that is made at the start and told to the operator alone: a client,
//! or a tool that can fetch addresses, must not approve its own calls. The servers and the last calls, which are not secret for
//! somebody who may call everything, are also shown on this machine where no credentials are asked for; not to those for whom a
//! proxy on this machine asks, whose requests have its public name as `Host`.

use crate::inspector::{ServedPage, served_page};
use crate::session::random;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::prelude::*;
use http::HeaderMap;
use ring::digest::{SHA256, digest};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use toolhub_protocol::net::unmapped;
use toolhub_types::error::HubError;
use toolhub_types::model::Lang;

/// In which the page sends the key.
const KEY_HEADER: &str = "toolhub-inspect-key";

pub struct InspectorAccess {
    key: String,
    is_local: AtomicBool,
    page: OnceLock<ServedPage>,
}

impl InspectorAccess {
    /// Fails when the OS gives no random bytes.
    pub fn new() -> Result<Self, HubError> {
        let key = URL_SAFE_NO_PAD.encode(random::<18>()?);
        Ok(InspectorAccess { key, is_local: AtomicBool::new(false), page: OnceLock::new() })
    }

    /// The key of the operator.
    pub fn key(&self) -> &str {
        &self.key
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

    pub fn page(&self, name: &str, mcp: &str, lang: Lang) -> &ServedPage {
        self.page.get_or_init(|| served_page(name, mcp, lang))
    }
}
