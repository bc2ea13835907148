//! Who calls the gateway, and what they see.

mod authenticator;
mod caller;
mod inspector_access;
mod jwks;
mod jwt;
mod revoked;
mod view_indexes;

pub use authenticator::{
    AuthenticationOptions, AuthenticationRefusal, Authenticator, PrincipalFunction, RequestCredentials,
    StaticToken,
};
pub use caller::{Caller, MissingCapability, audience, can_be_asked, needs_tasks, takes_tasks};
pub use jwks::{JwksSource, JwtAlgorithm};
pub use jwt::JwtOptions;
pub use revoked::revoked;
pub use view_indexes::ViewIndexes;

use crate::GatewayOptions;
use arc_swap::ArcSwap;
pub(crate) use authenticator::invalid;
use inspector_access::InspectorAccess;
use std::sync::Arc;
use tokio::sync::watch;
use toolhub_engine::served::{View, Views};
use toolhub_text::message;
use toolhub_types::error::{HubError, clip};
use toolhub_types::principal::Principal;

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
