//! What all requests share.

use super::conversation::WaitingCalls;
use super::in_flight::RequestsInFlight;
use super::options::GatewayOptions;
use super::principal::Principal;
use super::questions::OpenQuestions;
use super::session::{SessionKeys, Sessions};
use super::upstreams::Upstreams;
use super::view::View;
use crate::error::HubError;
use crate::hub::Hub;
use crate::plan::{CallResult, SharedResults};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The hub as an MCP server. It keeps nothing about its clients but the calls that are running.
pub struct Gateway {
    pub hub: Arc<Hub>,
    pub upstreams: Arc<dyn Upstreams>,
    pub options: GatewayOptions,
    pub shared: SharedResults<CallResult>,
    /// The requests of legacy clients on HTTP, by session and id.
    pub in_flight: RequestsInFlight,
    /// Questions to legacy clients.
    pub questions: OpenQuestions,
    /// Calls of modern clients that wait for an answer.
    pub waiting: WaitingCalls,
    pub sessions: Sessions,
    /// The principal of callers without credentials.
    pub anonymous: Arc<Principal>,
    /// The view that shows the whole hub.
    pub everything: Arc<View>,
    /// Fires when the gateway is about to stop: listeners are told, and no connection is accepted.
    pub stop: CancellationToken,
}

impl Gateway {
    /// Fails when keys for sessions are needed and the system gives no random numbers.
    pub fn new(
        hub: Arc<Hub>,
        upstreams: Arc<dyn Upstreams>,
        options: GatewayOptions,
    ) -> Result<Self, HubError> {
        let keys = match &options.session_keys {
            Some(keys) => keys.clone(),
            None => Arc::new(SessionKeys::random()?),
        };
        let lifetime = options.session_lifetime;
        Ok(Gateway {
            hub,
            upstreams,
            options,
            shared: SharedResults::default(),
            in_flight: RequestsInFlight::default(),
            questions: OpenQuestions::default(),
            waiting: WaitingCalls::default(),
            sessions: Sessions::new(keys, lifetime),
            anonymous: Arc::new(Principal::anonymous()),
            everything: Arc::new(View::everything()),
            stop: CancellationToken::new(),
        })
    }

    /// `serverInfo`.
    pub fn server_info(&self) -> Value {
        json!({"name": &*self.options.name, "version": env!("CARGO_PKG_VERSION")})
    }
}
