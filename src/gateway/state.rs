//! What all requests share.

use super::authenticator::Authenticator;
use super::conversation::WaitingCalls;
use super::in_flight::RequestsInFlight;
use super::limits::Admission;
use super::log_level::SessionLevels;
use super::operate::{Drain, DrainReport, Metrics, MetricsGauges};
use super::options::GatewayOptions;
use super::questions::OpenQuestions;
use super::session::{SessionKeys, Sessions};
use super::sse_clients::SseClients;
use super::subscribers::SessionSubscriptions;
use super::upstreams::Upstreams;
use super::view::{View, Views};
use crate::error::HubError;
use crate::hub::Hub;
use crate::plan::{CallResult, SharedResults};
use crate::principal::Principal;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long calls may take to end after they were cancelled by a drain.
const CANCELLED_WITHIN: Duration = Duration::from_secs(1);

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
    /// Clients of the transport HTTP+SSE that are connected.
    pub sse_clients: SseClients,
    pub sessions: Sessions,
    /// The log levels that legacy clients have set.
    pub log_levels: SessionLevels,
    /// The resources that legacy clients have subscribed to.
    pub subscriptions: SessionSubscriptions,
    /// The principal of callers without credentials.
    pub anonymous: Arc<Principal>,
    pub authenticator: Arc<Authenticator>,
    pub views: Views,
    pub admission: Admission,
    pub drain: Drain,
    /// The calls of tools that are running, also those that wait for an answer of their client between two requests.
    pub calls: Drain,
    pub metrics: Metrics,
    /// Fires when the gateway is about to stop: standing streams end, and no connection is accepted.
    pub stop: CancellationToken,
    /// Fires when requests that are still running have to end.
    pub abort: CancellationToken,
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
        let authenticator = match &options.authenticator {
            Some(authenticator) => authenticator.clone(),
            None => Arc::new(Authenticator::open()?),
        };
        let views = match &options.views {
            Some(views) => views.clone(),
            None => Views::new(View::everything(), [])?,
        };
        let admission = Admission::new(options.limits);
        Ok(Gateway {
            hub,
            upstreams,
            options,
            shared: SharedResults::default(),
            in_flight: RequestsInFlight::default(),
            questions: OpenQuestions::default(),
            waiting: WaitingCalls::default(),
            sse_clients: SseClients::default(),
            sessions: Sessions::new(keys, lifetime),
            log_levels: SessionLevels::default(),
            subscriptions: SessionSubscriptions::default(),
            anonymous: Arc::new(Principal::anonymous()),
            authenticator,
            views,
            admission,
            drain: Drain::default(),
            calls: Drain::default(),
            metrics: Metrics::default(),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
        })
    }

    /// Stops without breaking calls, within `grace`: new requests are refused, and running ones end. The last fifth, a second
    /// at most, is for those that had to be cancelled. Returns how many were.
    pub async fn drain(&self, grace: Duration) -> DrainReport {
        let rest = (grace / 5).min(CANCELLED_WITHIN);
        let report = self.drain.wait(grace - rest).await;
        // Calls that wait for an answer end too: requests that bring one are refused.
        self.abort.cancel();
        // Half of the rest is for their answers to reach the clients.
        self.calls.idle(rest / 2).await;
        self.stop.cancel();
        report
    }

    /// Stops at once: standing streams end, and what runs is answered if its client still waits.
    pub fn stop_now(&self) {
        self.drain.begin();
        self.stop.cancel();
    }

    /// What is running now.
    pub fn gauges(&self) -> MetricsGauges {
        let (requests, streams) = self.admission.running();
        MetricsGauges {
            connections: self.admission.connections(),
            requests,
            streams,
            tools: self.hub.registry.load().len(),
            is_draining: self.drain.is_draining(),
        }
    }

    /// `serverInfo`.
    pub fn server_info(&self) -> Value {
        json!({"name": &*self.options.name, "version": env!("CARGO_PKG_VERSION")})
    }
}
