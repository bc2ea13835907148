//! One request on its way to its answer.

use crate::identity::caller::Caller;
use crate::rpc::outlet::Outlet;
use crate::rpc::trace::RequestTrace;
use crate::state::Gateway;
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
