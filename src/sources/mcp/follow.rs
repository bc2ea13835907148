//! What goes on beside a connection, as long as it lives.

use super::connection::{Connection, Extras};
use super::message::Params;
use super::server::Server;
use serde_json::json;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Changes that come together are one change.
const GATHER: Duration = Duration::from_millis(100);
/// A list is fetched at most so often, however often a server says that it has changed.
const BETWEEN_LISTS: Duration = Duration::from_millis(500);

/// Lists the tools now, and again whenever the server says that they have changed.
pub async fn relist(server: Weak<Server>) {
    let Some(ear) = server.upgrade().map(|server| server.ear().clone()) else { return };
    loop {
        let Some(now) = server.upgrade() else { return };
        let _ = now.refresh().await;
        drop(now);
        sleep(BETWEEN_LISTS).await;
        ear.tools_changed.notified().await;
        sleep(GATHER).await;
    }
}

/// Modern servers tell of changes to those who listen. A stream that ends is opened again, more and more slowly.
pub async fn subscribe(connection: Arc<Connection>) {
    let mut pause = Duration::from_secs(1);
    while connection.transport().retired().is_none() {
        let begun = Instant::now();
        let params = Params::new().with("notifications", &json!({"toolsListChanged": true}));
        let ended = connection.request("subscriptions/listen", params, Extras::default()).await;
        if ended.is_err_and(|error| error.kind == crate::error::ErrorKind::Rpc) {
            return;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            pause = Duration::from_secs(1);
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(60));
    }
}

/// Closes a connection that nobody has used for a while.
pub async fn end_when_idle(server: Weak<Server>, idle: Duration) {
    loop {
        let Some(left) = server.upgrade().map(|server| idle.saturating_sub(server.unused_for())) else {
            return;
        };
        if left.is_zero() {
            if let Some(server) = server.upgrade() {
                server.disconnect().await;
            }
            return;
        }
        sleep(left).await;
    }
}
