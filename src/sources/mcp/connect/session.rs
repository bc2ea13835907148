//! One connection and the tasks that belong to it: they keep its tool list current, listen for changes, and end it when nothing
//! uses it. All begin and end together.

use crate::mcp::callbacks::ServerCallbacks;
use crate::mcp::connection::{Connection, LISTEN, RequestExtras, ServerIdentity, place};
use crate::mcp::message::Params;
use crate::mcp::protocol::Era;
use futures_util::FutureExt;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use toolhub_protocol::net::Backoff;
use toolhub_types::error::ErrorKind;
use toolhub_types::telemetry::{SpanAttribute, SpanSide};

/// Dropping a session aborts its tasks and releases the connection; calls in flight may still hold the connection.
pub struct Session {
    pub connection: Arc<Connection>,
    /// They run for as long as the session lives.
    pub tasks: JoinSet<()>,
    begun: Instant,
    /// The hub has ended it.
    is_closed: bool,
}

impl Session {
    pub fn new(connection: Arc<Connection>) -> Self {
        Session { connection, tasks: JoinSet::new(), begun: Instant::now(), is_closed: false }
    }

    /// Ends the tasks and the connection, in bounded time.
    pub async fn close(mut self) {
        self.is_closed = true;
        // Dropping the tasks aborts them.
        self.tasks = JoinSet::new();
        self.connection.transport.close().await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Session { connection, begun, is_closed, .. } = self;
        connection.callbacks.host.telemetry.session_ended(SpanSide::Client, begun.elapsed(), || {
            let mut attributes = place(connection, connection.server.version);
            if let Some(error) = connection.retired().filter(|_| !*is_closed) {
                attributes.push((SpanAttribute::ErrorType, error.kind.name().into()));
            }
            attributes
        });
    }
}

/// Changes within this time count as one.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// The least time between two lists, however often a server announces changes.
const BETWEEN_LISTS: Duration = Duration::from_millis(500);
/// How long a list may be unanswered after a change was announced.
const PATIENCE: Duration = Duration::from_secs(5);
/// A subscription is renewed after this time, so a stream that died silently is noticed.
const SUBSCRIPTION: Duration = Duration::from_secs(3600);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Lists the tools now, again whenever the server announces a change, and again after a while when `list` says that it did not
/// answer.
///
/// A list that is not answered does not hide the changes that are announced meanwhile: then another one is requested. A server
/// that announces a change whenever it is asked for its list, and at no other time, is asked less and less often.
pub async fn keep_tools_listed<R>(changed: Arc<Notify>, list: impl Fn() -> R)
where
    R: Future<Output = bool>,
{
    let grown = |pause: Duration, times| Backoff::new(pause, LONGEST_RETRY).wait(times, None);
    let mut pause = FIRST_RETRY;
    // How many lists in a row were outdated before they had arrived.
    let mut outdated = 0;
    loop {
        let is_behind = AtomicBool::new(false);
        let announced = async {
            changed.notified().await;
            is_behind.store(true, Ordering::Relaxed);
            sleep(grown(PATIENCE, outdated)).await;
        };
        let is_answered = tokio::select! {
            biased;
            is_answered = list() => is_answered,
            () = announced => {
                outdated += 1;
                continue;
            }
        };
        // More than one change may have been announced during the list.
        let is_behind = is_behind.into_inner() | changed.notified().now_or_never().is_some();
        sleep(BETWEEN_LISTS).await;
        match is_answered {
            // A change that was announced during the list may not be in it. One that comes in the pause is not an echo of it.
            _ if is_behind => {
                let pause = grown(BETWEEN_LISTS, outdated) - BETWEEN_LISTS;
                let is_echo = timeout(pause, changed.notified()).await.is_err();
                outdated = if is_echo { outdated + 1 } else { 0 };
            }
            true => {
                (pause, outdated) = (FIRST_RETRY, 0);
                changed.notified().await;
            }
            false => {
                outdated = 0;
                let _ = timeout(pause, changed.notified()).await;
                pause = (pause * 2).min(LONGEST_RETRY);
            }
        }
        sleep(DEBOUNCE).await;
    }
}

/// Modern servers announce changes on a stream. One that ends is opened again, with growing pauses. Returns true
/// when the server refuses it, as FastMCP 4 does although it promises to announce changes; false when the connection is lost.
/// Without `lists` only the changes of resources that are subscribed to are asked for.
pub async fn subscribe(connection: Arc<Connection>, callbacks: Arc<ServerCallbacks>, lists: bool) -> bool {
    let mut pause = FIRST_RETRY;
    let resources = &callbacks.subscriptions;
    while connection.transport.retired().is_none() {
        let begun = Instant::now();
        // Another program may have taken the place of the one that knew them.
        let may_subscribe = callbacks.declares("resources.subscribe") == Some(true);
        let uris = if may_subscribe { resources.uris() } else { Vec::new() };
        let wanted = wanted_changes(Some(&connection.server).filter(|_| lists), uris);
        if wanted.is_empty() {
            resources.changed.notified().await;
            continue;
        }
        let params = Params::new().with("notifications", &wanted);
        let stream = connection.request(LISTEN, params, RequestExtras::default());
        let ended = tokio::select! {
            ended = timeout(SUBSCRIPTION, stream) => ended,
            // Another stream is opened for what is wanted now.
            () = resources.changed.notified() => continue,
        };
        let Ok(ended) = ended else { continue };
        if ended.is_err_and(|error| error.kind == ErrorKind::Rpc) {
            return true;
        }
        if begun.elapsed() > LONGEST_RETRY {
            pause = FIRST_RETRY;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_RETRY);
    }
    false
}

/// Tells a legacy server in a new session what was subscribed to when it began.
pub async fn renew_subscriptions(connection: Arc<Connection>, uris: Vec<String>) {
    let is_legacy = connection.server.era == Era::Legacy;
    for uri in uris.into_iter().filter(|_| is_legacy) {
        let params = Params::new().with("uri", &uri);
        // A resource that is gone is not subscribed to any more.
        let _ = connection.request("resources/subscribe", params, RequestExtras::default()).await;
    }
}

/// The changes that a server announces: of its tools, its resources, its prompts, and of these resources.
fn wanted_changes(server: Option<&ServerIdentity>, resources: Vec<String>) -> Map<String, Value> {
    let kinds = ["tools", "resources", "prompts"].into_iter();
    let announced = kinds.filter(|kind| server.is_some_and(|server| server.announces_changes_of(kind)));
    let mut wanted: Map<String, Value> =
        announced.map(|kind| (format!("{kind}ListChanged"), Value::Bool(true))).collect();
    if !resources.is_empty() {
        wanted.insert("resourceSubscriptions".to_owned(), resources.into());
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::watch;

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_changes_lists_twice_a_second_at_most() {
        let (changed, lists) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let counter = lists.clone();
        let listing = tokio::spawn(keep_tools_listed(changed.clone(), move || {
            counter.fetch_add(1, Ordering::Relaxed);
            std::future::ready(true)
        }));
        for _ in 0..990 {
            changed.notify_one();
            sleep(Duration::from_millis(6)).await;
        }
        listing.abort();
        assert_eq!(lists.load(Ordering::Relaxed), 10, "in just under 6 s: at once, and then every 600 ms");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_announced_during_a_list_is_listed_afterwards() {
        let (changed, lists) = (Arc::new(Notify::new()), AtomicUsize::new(0));
        changed.notify_one();
        let listing = keep_tools_listed(changed, || {
            lists.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(PATIENCE / 2).await;
                true
            }
        });
        let _ = timeout(SUBSCRIPTION, listing).await;
        assert_eq!(lists.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_announces_a_change_whenever_it_is_listed_is_asked_less_and_less_often() {
        for list_takes in [Duration::from_secs(1), PATIENCE * 2] {
            let (changed, lists) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
            let (announced, counter) = (changed.clone(), lists.clone());
            let listing = tokio::spawn(keep_tools_listed(changed, move || {
                counter.fetch_add(1, Ordering::Relaxed);
                announced.notify_one();
                async move {
                    sleep(list_takes).await;
                    true
                }
            }));
            sleep(Duration::from_secs(600)).await;
            listing.abort();
            let lists = lists.load(Ordering::Relaxed);
            assert!((10..=20).contains(&lists), "{lists} lists in 10 minutes, {list_takes:?} each");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_state_after_a_burst_of_changes_is_seen_within_two_seconds() {
        for (list_takes, between) in [(50, 30), (50, 120), (400, 30), (400, 700), (900, 90)] {
            let (changed, state) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
            let (seen, seen_at) = watch::channel(0);
            let now = state.clone();
            let listing = tokio::spawn(keep_tools_listed(changed.clone(), move || {
                let (state, seen) = (now.load(Ordering::Relaxed), seen.clone());
                async move {
                    sleep(Duration::from_millis(list_takes)).await;
                    seen.send_replace(state);
                    true
                }
            }));
            for number in 1..=400 {
                state.store(number, Ordering::Relaxed);
                changed.notify_one();
                sleep(Duration::from_millis(between)).await;
            }
            let (last, mut seen_at) = (Instant::now(), seen_at);
            seen_at.wait_for(|seen| *seen == 400).await.expect("the task lists");
            let late = last.elapsed() + Duration::from_millis(between);
            assert!(late <= Duration::from_secs(2), "{late:?}, {list_takes} ms a list, {between} ms between");
            listing.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_an_answer_is_requested_again() {
        let (changed, lists) = (Arc::new(Notify::new()), AtomicUsize::new(0));
        let listing = keep_tools_listed(changed, || {
            let is_last = lists.fetch_add(1, Ordering::Relaxed) == 2;
            std::future::ready(is_last)
        });
        let _ = timeout(SUBSCRIPTION, listing).await;
        assert_eq!(lists.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_announced_during_an_endless_list_is_seen() {
        let (changed, lists) = (Arc::new(Notify::new()), AtomicUsize::new(0));
        changed.notify_one();
        let listing = keep_tools_listed(changed, || {
            let is_first = lists.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if is_first {
                    std::future::pending::<()>().await;
                }
                true
            }
        });
        let _ = timeout(SUBSCRIPTION, listing).await;
        assert_eq!(lists.load(Ordering::Relaxed), 2);
    }
}
