//! What all requests share.

use super::authenticator::Authenticator;
use super::client_changes::{ClientChanges, WantedLists};
use super::in_flight::RequestsInFlight;
use super::inspector_access::InspectorAccess;
use super::kept::KeptCalls;
use super::kept::questions::{OpenQuestions, random_id};
use super::limits::Admission;
use super::log_level::SessionLevels;
use super::operate::{Drain, DrainPlace, DrainReport, Metrics, MetricsGauges};
use super::options::GatewayOptions;
use super::rpc::RpcRequest;
use super::session::{SessionKeys, Sessions, no_random};
use super::session_streams::SessionStreams;
use super::sse_clients::SseClients;
use super::subscribers::{ClientSubscriptions, SessionSubscriptions};
use super::view_indexes::ViewIndexes;
use crate::inspector::LiveTimeline;
use arc_swap::ArcSwap;
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolhub_engine::hub::Hub;
use toolhub_engine::served::Upstreams;
use toolhub_engine::served::{View, Views};
use toolhub_protocol::LogLevel;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::principal::Principal;

/// The longest last part of a drain; a short one has two fifths of its grace.
const LAST_PART: Duration = Duration::from_secs(2);

/// The last part of the grace of a drain. Half of it is for calls that had to be cancelled, a quarter for their answers to
/// reach the clients, and a quarter for the process to end.
fn last_part(grace: Duration) -> Duration {
    (grace * 2 / 5).min(LAST_PART)
}

/// How long after the beginning of a drain connections are closed, whatever is still to be written on them.
pub fn connections_end(grace: Duration) -> Duration {
    grace - last_part(grace) / 4
}

/// The path of the inspector's page.
pub const INSPECTOR: &str = "/inspect";

/// The hub as an MCP server, one replica of it. A session needs no replica: its signed id says all that it is. The tables here
/// belong to this replica alone; `docs/concepts/gateway.md` lists them.
pub struct Gateway {
    pub hub: Arc<Hub>,
    pub upstreams: Arc<dyn Upstreams>,
    pub options: GatewayOptions,
    /// The requests of legacy clients on HTTP, by session and id.
    pub in_flight: RequestsInFlight,
    /// Questions to legacy clients.
    pub questions: OpenQuestions,
    /// Tells this replica from others, also from an earlier process in its place.
    pub replica: String,
    /// Calls that outlive their request.
    pub kept: KeptCalls,
    /// Clients of the transport HTTP+SSE that are connected.
    pub sse_clients: SseClients,
    pub sessions: Sessions,
    /// The log levels that legacy clients have set.
    pub log_levels: SessionLevels,
    /// The resources that legacy clients have subscribed to.
    pub subscriptions: SessionSubscriptions,
    pub session_streams: SessionStreams,
    /// The principal of callers without credentials.
    pub anonymous: Arc<Principal>,
    /// Who may call. Replaced by [`Gateway::reload`], as the views are.
    pub authenticator: ArcSwap<Authenticator>,
    pub views: ArcSwap<Views>,
    /// Tells standing streams that both may have changed.
    pub reloaded: watch::Sender<()>,
    pub view_indexes: ViewIndexes,
    pub admission: Admission,
    pub inspector: InspectorAccess,
    /// The last calls, for the inspector.
    pub live: Arc<LiveTimeline>,
    pub drain: Drain,
    /// The calls of tools that are running, also those that wait for an answer of their client between two requests.
    pub calls: Drain,
    pub metrics: Metrics,
    /// Fires when the gateway is about to stop: standing streams end, and no connection is accepted.
    pub stop: CancellationToken,
    /// Fires when requests that are still running have to end.
    pub abort: CancellationToken,
    /// Fires when requests that ignore this are answered without their tools.
    pub given_up: CancellationToken,
}

impl Gateway {
    /// Fails when keys for sessions are needed and the OS gives no random bytes.
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
        let (authenticator, views) = access(&options)?;
        let admission = Admission::new(options.limits, options.give_back);
        let stop = CancellationToken::new();
        Ok(Gateway {
            hub,
            upstreams,
            options,
            in_flight: RequestsInFlight::default(),
            questions: OpenQuestions::default(),
            replica: random_id().ok_or_else(no_random)?,
            kept: KeptCalls::new(stop.clone()),
            sse_clients: SseClients::default(),
            sessions: Sessions::new(keys, lifetime),
            log_levels: SessionLevels::default(),
            subscriptions: SessionSubscriptions::default(),
            session_streams: SessionStreams::default(),
            anonymous: Arc::new(Principal::anonymous()),
            authenticator: ArcSwap::new(authenticator),
            views: ArcSwap::from_pointee(views),
            reloaded: watch::Sender::new(()),
            view_indexes: ViewIndexes::default(),
            admission,
            inspector: InspectorAccess::new()?,
            live: Arc::default(),
            drain: Drain::default(),
            calls: Drain::default(),
            metrics: Metrics::default(),
            stop,
            abort: CancellationToken::new(),
            given_up: CancellationToken::new(),
        })
    }

    /// Applies the credentials, views and limits of these options to all requests from now on. Calls that run are not
    /// affected; standing streams end if they would not be let in any more.
    /// Changes nothing when they have a mistake. The other options are those of the start.
    pub async fn reload(&self, options: &GatewayOptions) -> Result<(), HubError> {
        let (mut authenticator, views) = access(options)?;
        if self.authenticator.load().is_closed() && !authenticator.is_closed() {
            let text =
                "A running server cannot stop asking for credentials; restart it to serve without them.";
            return Err(HubError::new(ErrorKind::InvalidArguments, text));
        }
        Arc::make_mut(&mut authenticator).prepare_after(&self.authenticator.load_full()).await?;
        // A credential that was taken back must stop to count before views change.
        self.authenticator.store(authenticator);
        self.views.store(Arc::new(views));
        self.admission.set_limits(options.limits);
        self.reloaded.send_replace(());
        Ok(())
    }

    /// Stops without breaking calls, within `grace`: new requests are refused, and running ones end. Those that have not ended
    /// when the last part begins are cancelled; a tool that ignores that is not waited for, its client gets an error. Returns how
    /// many were cancelled.
    pub async fn drain(&self, grace: Duration) -> DrainReport {
        let rest = last_part(grace);
        let report = self.drain.wait(grace - rest).await;
        // Calls that wait for an answer end too: requests that bring one are refused.
        self.abort.cancel();
        tokio::join!(self.calls.idle(rest / 2), self.drain.idle(rest / 2));
        self.given_up.cancel();
        // They write their lines into the audit log.
        self.calls.idle(rest / 8).await;
        self.stop.cancel();
        self.settle();
        self.log_written().await;
        report
    }

    /// A place for a request; `None` while draining. Calls and tasks that run may end then, so requests about tasks and those
    /// that bring the answers of a client are still taken.
    pub fn enter(&self, request: &RpcRequest) -> Option<DrainPlace> {
        let of_task = ["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"];
        let goes_on = || of_task.contains(&request.method.as_str()) || request.brings_answers();
        self.drain.enter().or_else(|| goes_on().then(|| self.drain.enter_beside()))
    }

    /// A request was refused before a method has read it, with this status.
    pub fn refused(&self, status: StatusCode, principal: Option<&Principal>) {
        self.metrics.refused(status.as_u16());
        if let Some(audit) = &self.options.audit {
            audit.refused(status.as_u16(), principal.map_or("", |principal| &principal.id));
        }
    }

    /// The calls of one principal that may be kept while they run: as many as may run at once.
    pub fn most_kept(&self) -> usize {
        self.admission.limits().max_in_flight
    }

    /// The changes that a client of this view hears of, from now on.
    pub fn changes(
        &self,
        view: &View,
        principal: &Principal,
        wanted: WantedLists,
        subscribed: ClientSubscriptions,
    ) -> ClientChanges {
        ClientChanges::new(&self.hub, &*self.upstreams, view, principal, wanted, subscribed)
    }

    /// A session has ended: its requests are cancelled, and what its client has set counts no more.
    pub fn forget_session(&self, principal: &str, session: &str) {
        self.in_flight.cancel_session(session);
        self.session_streams.end(session);
        self.subscriptions.forget(principal, session);
        if self.log_levels.forget(principal, session)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (upstreams, lowest) = (self.upstreams.clone(), self.log_levels.lowest());
            runtime.spawn(async move { upstreams.want_log_level(lowest.map(LogLevel::name)).await });
        }
    }

    /// Returns when the audit log has what was done until now, unless that takes long.
    pub async fn log_written(&self) {
        if let Some(audit) = &self.options.audit {
            audit.caught_up().await;
        }
    }

    fn settle(&self) {
        if let Some(audit) = &self.options.audit {
            audit.settle();
        }
    }

    /// Stops at once: standing streams end, and what runs is answered if its client still waits.
    pub fn stop_now(&self) {
        self.drain.begin();
        self.stop.cancel();
        self.settle();
    }

    /// Whether the inspector can be reached: on this machine, or where callers need credentials, unless an MCP client
    /// gets the answer at its path.
    pub fn has_inspector(&self) -> bool {
        let is_allowed = self.inspector.is_local() || self.authenticator.load().is_closed();
        is_allowed && !self.is_endpoint(INSPECTOR)
    }

    /// Whether MCP clients are served at this path: the endpoint itself, or one of its views.
    pub fn is_endpoint(&self, path: &str) -> bool {
        let base = self.options.path.trim_end_matches('/');
        path.strip_prefix(base).is_some_and(|rest| match rest.strip_prefix('/') {
            Some(view) => self.views.load().named(view).is_some(),
            None => rest.is_empty(),
        })
    }

    /// What is running now.
    pub fn gauges(&self) -> MetricsGauges {
        let (requests, streams) = self.admission.running();
        MetricsGauges {
            connections: self.admission.connections().count(),
            requests,
            streams,
            tools: self.hub.registry.load().len(),
            is_draining: self.drain.is_draining(),
            lost_lines: self.options.audit.as_ref().map_or(0, |audit| audit.lost()),
        }
    }

    /// `serverInfo`.
    pub fn server_info(&self) -> Value {
        json!({"name": &*self.options.name, "version": env!("CARGO_PKG_VERSION")})
    }
}

/// Who may call, and what they see. A token for a view that does not exist is a mistake: all its requests would get 404.
fn access(options: &GatewayOptions) -> Result<(Arc<Authenticator>, Views), HubError> {
    let authenticator = match &options.authenticator {
        Some(authenticator) => authenticator.clone(),
        None => Arc::new(Authenticator::open()?),
    };
    let mut views = match &options.views {
        Some(views) => views.clone(),
        None => Views::new(View::everything(), [])?,
    };
    for (name, view) in authenticator.token_views() {
        if !views.reserve(view) {
            let known: Vec<String> = views.names().map(|name| format!("'{name}'")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let (name, view) = (clip(name), clip(view));
            let text = format!(
                "The token of '{name}' is for the view '{view}', which does not exist; known views: {known}."
            );
            return Err(HubError::new(ErrorKind::InvalidArguments, text));
        }
    }
    Ok((authenticator, views))
}
