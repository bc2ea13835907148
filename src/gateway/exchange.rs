//! One request on its way to its answer.

use crate::Gateway;
use crate::identity::Caller;
use crate::rpc::{Outlet, RequestTrace, RpcError, RpcId};
use crate::session::RunningRequest;
use std::borrow::Cow;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::Era;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::tool::CancelReason;

/// One request on its way to its answer.
#[derive(Clone)]
pub struct Exchange {
    pub gateway: Arc<Gateway>,
    pub caller: Arc<Caller>,
    /// Where progress and questions go.
    pub outlet: Outlet,
    /// Fires when the client has cancelled the request or is gone.
    pub cancel: CancellationToken,
    pub cancel_reason: CancelReason,
    pub trace: RequestTrace,
}

impl Exchange {
    /// A request begins to run. While the entry lives, a client with a session can cancel it by its id.
    pub fn begin(
        (gateway, caller): (&Arc<Gateway>, Arc<Caller>),
        id: &RpcId,
        outlet: Outlet,
        cancel: CancellationToken,
        trace: RequestTrace,
    ) -> Result<(Arc<Self>, Option<RunningRequest>), RpcError> {
        let cancel_reason = CancelReason::default();
        let enter = |session: &Arc<str>| {
            let cancellation = (cancel.clone(), cancel_reason.clone());
            let entry = gateway.sessions.in_flight.enter((session.clone(), id.key()), cancellation);
            entry.ok_or_else(|| {
                let id = clip(id.as_json());
                let text = format!("Invalid Request: the id {id} belongs to a request that is running");
                RpcError::invalid_request(text)
            })
        };
        let entry = caller.session.as_ref().map(enter).transpose()?;
        let gateway = gateway.clone();
        Ok((Arc::new(Exchange { gateway, caller, outlet, cancel, cancel_reason, trace }), entry))
    }

    pub fn is_modern(&self) -> bool {
        self.caller.era == Era::Modern
    }

    /// What the caller reads of an error. All of it reaches the only caller of a hub that it sees whole; others get the public face,
    /// and the operator's log the rest.
    pub fn face<'a>(&self, provider: &str, error: &'a HubError) -> Cow<'a, str> {
        let (sees_all, lang) = (self.caller.view.shows_everything(), self.gateway.hub.options.lang);
        // They speak of the caller's own access: how to log in, which header is missing.
        let is_own = matches!(error.kind, ErrorKind::Auth | ErrorKind::NotAllowed);
        if sees_all && (is_own || !self.gateway.identity.authenticator.load().has_several_callers()) {
            return error.message.text(lang);
        }
        let public = error.public();
        if public != error.message {
            let text = format!("for '{}': {}", clip(&self.caller.principal.id), error.message);
            self.gateway.upstreams.log(provider, "info", &text);
        }
        public.text(lang).into_owned().into()
    }
}
