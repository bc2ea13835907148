//! Announces changes of resources and prompts: those of the hub itself and those of its servers.

use std::sync::Arc;
use tokio::sync::broadcast;
use toolhub_types::model::{ChangedOffer, OfferChange};

/// How many changes may wait for a slow listener. One that misses some looks at everything again.
const MOST_WAITING: usize = 256;

/// Announces changes to all listeners. The hub and its servers share it.
#[derive(Clone)]
pub struct OfferSignals {
    sender: broadcast::Sender<OfferChange>,
    /// The principal on whose connections the changes are announced.
    caller: Option<Arc<str>>,
}

impl Default for OfferSignals {
    fn default() -> Self {
        OfferSignals { sender: broadcast::Sender::new(MOST_WAITING), caller: None }
    }
}

impl OfferSignals {
    pub fn watch(&self) -> broadcast::Receiver<OfferChange> {
        self.sender.subscribe()
    }

    /// The same signals for what is announced on the connections of one principal.
    pub fn of_caller(&self, caller: Arc<str>) -> Self {
        OfferSignals { sender: self.sender.clone(), caller: Some(caller) }
    }

    pub fn send(&self, server: &Arc<str>, what: ChangedOffer) {
        // There may be no listener.
        let _ = self.sender.send(OfferChange { what, server: server.clone(), caller: self.caller.clone() });
    }
}
