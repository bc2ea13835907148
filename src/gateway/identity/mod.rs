//! Who calls the gateway, and what they see.

use crate::methods::search_mode::ViewIndexes;
use crate::{Gateway, GatewayOptions};
use arc_swap::ArcSwap;
use inspector_access::InspectorAccess;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use toolhub_engine::served::{View, Views};
use toolhub_text::message;
use toolhub_types::error::{HubError, clip};
use toolhub_types::principal::Principal;

mod authenticator;
mod caller;
mod inspector_access;
mod jwks;
mod jwt;

pub use authenticator::{
    AuthenticationOptions, AuthenticationRefusal, Authenticator, PrincipalFunction, RequestCredentials,
    StaticToken,
};
pub use caller::{Caller, MissingCapability, audience, can_be_asked, needs_tasks, takes_tasks};
pub use jwks::{JwksSource, JwtAlgorithm};
pub use jwt::JwtOptions;

pub(crate) use authenticator::invalid;

/// Who may call, and what they see.
pub struct Identity {
    /// The principal of callers without credentials.
    pub anonymous: Arc<Principal>,
    /// Replaced by [`Identity::reload`], as the views are.
    pub authenticator: ArcSwap<Authenticator>,
    pub views: ArcSwap<Views>,
    pub view_indexes: ViewIndexes,
    /// Tells long-lived streams that both may have changed.
    pub reloaded: watch::Sender<()>,
    pub inspector: InspectorAccess,
}

impl Identity {
    pub fn new(options: &GatewayOptions) -> Result<Self, HubError> {
        let (authenticator, views) = access(options)?;
        Ok(Identity {
            anonymous: Arc::new(Principal::anonymous()),
            authenticator: ArcSwap::new(authenticator),
            views: ArcSwap::from_pointee(views),
            view_indexes: ViewIndexes::default(),
            reloaded: watch::Sender::new(()),
            inspector: InspectorAccess::new()?,
        })
    }

    /// Applies the credentials and views of these options to all requests from now on. Long-lived streams end if they would not
    /// be let in any more. Changes nothing when they have a mistake.
    pub async fn reload(&self, options: &GatewayOptions) -> Result<(), HubError> {
        let (mut authenticator, views) = access(options)?;
        if self.authenticator.load().is_closed() && !authenticator.is_closed() {
            return invalid(
                "A running server cannot stop asking for credentials; restart it to serve without them.",
            );
        }
        Arc::make_mut(&mut authenticator).prepare_after(&self.authenticator.load_full()).await?;
        // A credential that was taken back must stop to count before views change.
        self.authenticator.store(authenticator);
        self.views.store(Arc::new(views));
        self.reloaded.send_replace(());
        Ok(())
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
            return invalid(message!(
                "The token of '{}' is for the view '{}', which does not exist; known views: {}.",
                clip(name),
                clip(view),
                known
            ));
        }
    }
    Ok((authenticator, views))
}

/// A token whose time is over, but which cannot be checked now, is looked at again after this time.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Timers need not reach further.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns when the caller of a long-lived stream would not be let in any more. Its credentials and its view are looked at when the
/// configuration was reloaded, and a signed token when its time is over. A stream that is idle wakes up for nothing else.
pub async fn revoked(gateway: &Gateway, principal: &Principal, view: &View) {
    let mut reloaded = gateway.identity.reloaded.subscribe();
    loop {
        let (authenticator, now) = (gateway.identity.authenticator.load_full(), SystemTime::now());
        let renewed = gateway.identity.views.load().renewed(view);
        let has_view = renewed.is_some_and(|view| !view.has_token || principal.view.is_some());
        // Boxed: a stream that waits would keep as much memory as a check needs.
        if !has_view || !Box::pin(authenticator.still_accepts(principal, now)).await {
            return;
        }
        let expires = authenticator.expires(principal);
        drop(authenticator);
        let expired = async {
            match expires {
                Some(expires) => {
                    let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
                    tokio::time::sleep(left.clamp(SHORTEST_WAIT, LONGEST_WAIT)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = reloaded.changed() => if changed.is_err() { return },
            () = expired => {}
        }
    }
}
