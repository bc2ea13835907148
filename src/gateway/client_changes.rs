//! The changes that one client hears of: of its lists, and of the resources that it subscribed to.

use super::list_changes::ListChanges;
use super::state::Gateway;
use super::subscribers::ClientSubscriptions;
use super::view::View;
use crate::model::{OfferChange, OfferKind};
use serde_json::{Value, json};
use std::collections::VecDeque;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// The lists whose changes a client wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedLists {
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
}

impl WantedLists {
    pub const ALL: WantedLists = WantedLists { tools: true, resources: true, prompts: true };

    fn wants(self, kind: OfferKind) -> bool {
        match kind {
            OfferKind::Resources | OfferKind::ResourceTemplates => self.resources,
            OfferKind::Prompts => self.prompts,
        }
    }
}

/// A notification: its method and its parameters.
pub type ChangeNotice = (&'static str, Value);

pub struct ClientChanges {
    wanted: WantedLists,
    tools: ListChanges,
    /// `None` when no more will come.
    offers: Option<Receiver<OfferChange>>,
    subscribed: ClientSubscriptions,
    /// Changes that are still to be reported.
    due: VecDeque<ChangeNotice>,
}

impl ClientChanges {
    /// From now on.
    pub fn new(gateway: &Gateway, view: &View, wanted: WantedLists, subscribed: ClientSubscriptions) -> Self {
        let (tools, offers) = (ListChanges::new(gateway, view), Some(gateway.upstreams.offer_changes()));
        ClientChanges { wanted, tools, offers, subscribed, due: VecDeque::new() }
    }

    /// Returns after the next change that the client may know of. Dropping the future loses no change.
    pub async fn next(&mut self, gateway: &Gateway, view: &View) -> ChangeNotice {
        loop {
            if let Some(due) = self.due.pop_front() {
                return due;
            }
            let offers = self.offers.as_mut();
            let received = async {
                match offers {
                    Some(offers) => offers.recv().await,
                    None => std::future::pending().await,
                }
            };
            let received = tokio::select! {
                true = self.tools.next(gateway, view), if self.wanted.tools => {
                    return ("notifications/tools/list_changed", json!({}));
                }
                received = received => received,
            };
            match received {
                Ok(change) => self.due.extend(self.notice(view, &change)),
                // Some were missed, so the lists may have changed.
                Err(RecvError::Lagged(_)) => {
                    let kinds = [OfferKind::Resources, OfferKind::Prompts].into_iter();
                    self.due.extend(kinds.filter(|kind| self.wanted.wants(*kind)).map(list_changed));
                }
                Err(RecvError::Closed) => self.offers = None,
            }
        }
    }

    /// Changes on servers that the view does not show are not reported.
    fn notice(&self, view: &View, change: &OfferChange) -> Option<ChangeNotice> {
        match change {
            OfferChange::List { kind, server } => {
                (self.wanted.wants(*kind) && view.shows(*kind, server)).then(|| list_changed(*kind))
            }
            OfferChange::Content { uri, server } => {
                let own = self.subscribed.known_as(server, uri)?;
                Some(("notifications/resources/updated", json!({"uri": own})))
            }
        }
    }
}

fn list_changed(kind: OfferKind) -> ChangeNotice {
    let method = match kind {
        OfferKind::Resources | OfferKind::ResourceTemplates => "notifications/resources/list_changed",
        OfferKind::Prompts => "notifications/prompts/list_changed",
    };
    (method, json!({}))
}
