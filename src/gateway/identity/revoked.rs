//! Long-lived streams last as long as what let them in: the credentials of their caller, and the view they show.
//!
//! Both are looked at when the configuration was reloaded, and a signed token when its time is over. A stream that is idle
//! wakes up for nothing else.

use crate::Gateway;
use std::time::{Duration, SystemTime};
use toolhub_engine::served::View;
use toolhub_types::principal::Principal;

/// A token whose time is over, but which cannot be checked now, is looked at again after this time.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Timers need not reach further.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns when the caller of a long-lived stream would not be let in any more.
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
