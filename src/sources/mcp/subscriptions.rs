//! Subscriptions to resources of a server: a request in the older protocol, a part of the standing stream in the modern one.

use super::offers::{OfferRequest, ask};
use super::protocol::Era;
use super::server::Server;
use serde_json::{Map, Value};
use std::sync::{Arc, Weak};
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::tool::CallContextExtras;

impl Server {
    /// Whether the server has this capability, such as `prompts` or `resources.subscribe`. `None` before its first session.
    pub fn declares(&self, capability: &str) -> Option<bool> {
        self.callbacks().declares(capability)
    }
}

/// One subscriber of a resource; dropping it ends the subscription.
pub struct ResourceSubscription {
    server: Weak<Server>,
    uri: String,
}

/// Subscribes to a resource. Its changes are announced from now on, also after the server was connected again.
pub async fn subscribe(server: &Arc<Server>, uri: &str) -> Result<ResourceSubscription, HubError> {
    let connection = server.connection().await?;
    let refused = |text: String| HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::NotSent);
    if server.declares("resources.subscribe") != Some(true) {
        return Err(refused(format!("Server '{}' does not support resource subscriptions.", server.id())));
    }
    let subscriptions = &server.callbacks().subscriptions;
    let Some(is_first) = subscriptions.add(uri) else {
        let text = format!("Too many resource subscriptions to server '{}'.", server.id());
        return Err(HubError::new(ErrorKind::Limit, text).with_outcome(Outcome::NotSent));
    };
    let subscription = ResourceSubscription { server: Arc::downgrade(server), uri: uri.to_owned() };
    match connection.server().era {
        _ if !is_first => {}
        Era::Modern => subscriptions.changed.notify_one(),
        // Dropping the subscription takes it back if the server refuses.
        Era::Legacy => {
            let request = request("resources/subscribe", uri);
            ask(server, &request, &CallContextExtras::default()).await?;
        }
    }
    Ok(subscription)
}

fn request(method: &'static str, uri: &str) -> OfferRequest {
    let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    OfferRequest { method, name: uri.to_owned(), params }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let Some(server) = self.server.upgrade() else { return };
        let subscriptions = &server.callbacks().subscriptions;
        if !subscriptions.remove(&self.uri) {
            return;
        }
        subscriptions.changed.notify_one();
        let is_legacy = server.info().era == Some(Era::Legacy.name());
        // A server that is not connected has forgotten it already.
        if is_legacy
            && server.info().state == "connected"
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let request = request("resources/unsubscribe", &self.uri);
            runtime.spawn(async move {
                let _ = ask(&server, &request, &CallContextExtras::default()).await;
            });
        }
    }
}
