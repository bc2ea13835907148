//! What a server has listed: its tools and skills, with the session and time they come from.
//!
//! Lists are taken in the order in which they were requested. One that was requested earlier and arrives later is dropped.

use crate::mcp::protocol::NegotiatedProtocol;
use crate::mcp::skills::Skills;
use crate::mcp::tool_list::Listing;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use toolhub_types::error::HubError;

/// Without a `ttlMs`, a list counts as fresh for this long before a missing tool makes the hub list again.
const DEFAULT_TTL: Duration = Duration::from_secs(300);
/// The least time between two lists that missing tools cause, however short a server's `ttlMs` is.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct ServerLists {
    tools: ArcSwapOption<Listing>,
    /// `None` until the server says that it has skills.
    pub skills: ArcSwapOption<Skills>,
    latest: Mutex<LatestList>,
    /// Waited for before a request for the lists is made.
    pub turn: ListTurn,
    /// When the last request was made.
    requested: Mutex<Option<Instant>>,
    /// Held while a list is taken and published, so that lists are published in the order in which they are taken.
    pub publishing: Mutex<()>,
    /// How many of the announced changes are in the list.
    covered: AtomicU64,
    /// The server cannot announce changes, whatever it promises.
    pub is_silent: AtomicBool,
}

/// Held by the one request for the lists of a server that is running. It has the last one that failed, if no later one succeeded.
pub type ListTurn = Arc<tokio::sync::Mutex<Option<ListFailure>>>;

pub struct ListFailure {
    pub generation: u64,
    pub at: Instant,
    pub error: HubError,
}

#[derive(Clone, Copy, Default)]
struct LatestList {
    round: ListRound,
    at: Option<Instant>,
    /// What was spoken when the tools were listed, perhaps by an earlier process.
    protocol: Option<NegotiatedProtocol>,
}

/// One request for the lists of a server: which session sent it, and its place among all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListRound {
    pub generation: u64,
    /// When the request was made; `None` for a list of an earlier process.
    requested: Option<Instant>,
    /// How often the way to the server had been interrupted by then.
    pub breaks: u64,
    /// Hubs in between had their servers list theirs for it.
    of_now: bool,
}

impl ServerLists {
    pub fn tools(&self) -> Option<Arc<Listing>> {
        self.tools.load_full()
    }

    pub fn protocol(&self) -> Option<NegotiatedProtocol> {
        self.latest.lock().protocol
    }

    pub fn age(&self) -> Option<Duration> {
        self.latest.lock().at.map(|at| at.elapsed())
    }

    pub fn round(&self) -> ListRound {
        self.latest.lock().round
    }

    /// Whether a session of this generation has listed its tools.
    pub fn is_of(&self, generation: u64) -> bool {
        self.round().generation == generation
    }

    /// Whether the list is as old as its server allows, or older, or was made before the way to the server was interrupted.
    pub fn is_outdated(&self, breaks: u64) -> bool {
        let latest = *self.latest.lock();
        let is_old = |at: Instant| self.ttl().is_some_and(|ttl| at.elapsed() > ttl);
        latest.round.breaks != breaks || latest.at.is_some_and(is_old)
    }

    /// Whether the list was requested at this moment or later. `of_now`: also where a hub is in between.
    pub fn is_since(&self, moment: Instant, of_now: bool) -> bool {
        let round = self.latest.lock().round;
        round.requested.is_some_and(|requested| requested >= moment) && (round.of_now || !of_now)
    }

    /// Whether the list arrived at this moment or later.
    pub fn came_since(&self, moment: Instant) -> bool {
        self.latest.lock().at.is_some_and(|at| at >= moment)
    }

    /// Whether the server may have tools that are not in the list: there is none, or it is no longer fresh.
    pub fn may_have_more(&self) -> bool {
        let Some(age) = self.age() else { return true };
        let default = if self.is_silent.load(Ordering::Relaxed) { SHORTEST_TTL } else { DEFAULT_TTL };
        age > self.ttl().unwrap_or(default)
    }

    fn ttl(&self) -> Option<Duration> {
        let ttl = self.tools.load().as_ref()?.ttl_ms?;
        Some(Duration::from_millis(ttl).max(SHORTEST_TTL))
    }

    /// Takes note that the list has all changes up to this number.
    pub fn cover(&self, changes: u64) {
        self.covered.fetch_max(changes, Ordering::AcqRel);
    }

    /// Whether fewer changes are in the list than were announced.
    pub fn is_behind(&self, changes: u64) -> bool {
        self.covered.load(Ordering::Acquire) < changes
    }

    /// Begins a request for the lists.
    pub fn begin(&self, generation: u64, breaks: u64, of_now: bool) -> ListRound {
        let requested = Some(Instant::now());
        *self.requested.lock() = requested;
        ListRound { generation, requested, breaks, of_now }
    }

    /// Since when the request that is running has no answer.
    pub fn running_since(&self) -> Option<Instant> {
        self.requested.lock().filter(|_| self.turn.try_lock().is_err())
    }

    /// Whether a list of this round is not older than the one that is there.
    pub fn is_newer(&self, round: ListRound) -> bool {
        round >= self.latest.lock().round
    }

    /// Takes a list of tools that is [newer](Self::is_newer).
    pub fn put_tools(
        &self,
        round: ListRound,
        listing: Arc<Listing>,
        protocol: Option<NegotiatedProtocol>,
        at: Option<Instant>,
    ) {
        // In this order: who sees the round finds its tools, or later ones.
        self.tools.store(Some(listing));
        *self.latest.lock() = LatestList { round, at, protocol };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::protocol::Era;

    const SPOKEN: Option<NegotiatedProtocol> = Some(NegotiatedProtocol { era: Era::Modern, version: None });

    fn listing(ttl_ms: u64) -> Arc<Listing> {
        Arc::new(Listing { ttl_ms: Some(ttl_ms), ..Listing::default() })
    }

    #[test]
    fn a_list_that_was_requested_earlier_and_comes_later_is_dropped() {
        let lists = ServerLists::default();
        let (first, second, third) =
            (lists.begin(1, 0, false), lists.begin(1, 0, false), lists.begin(2, 0, false));
        assert!(lists.is_newer(second));
        lists.put_tools(second, listing(2), SPOKEN, None);
        assert!(!lists.is_newer(first) && lists.is_newer(third));
        lists.put_tools(third, listing(3), SPOKEN, None);
        assert!(!lists.is_newer(second));
        assert_eq!(lists.tools(), Some(listing(3)));
        assert!(lists.is_of(2) && !lists.is_of(1));
    }

    #[test]
    fn a_request_runs_until_its_turn_ends() {
        let lists = ServerLists::default();
        assert_eq!(lists.running_since(), None);
        let turn = lists.turn.clone().try_lock_owned().unwrap();
        let round = lists.begin(3, 0, false);
        assert_eq!(lists.running_since(), round.requested);
        drop(turn);
        assert_eq!(lists.running_since(), None);
    }

    #[test]
    fn only_a_request_for_the_tools_of_now_gives_them() {
        let lists = ServerLists::default();
        let begun = Instant::now();
        for of_now in [false, true] {
            lists.put_tools(lists.begin(1, 0, of_now), listing(1), SPOKEN, Some(Instant::now()));
            assert!(lists.is_since(begun, false) && lists.came_since(begun));
            assert_eq!(lists.is_since(begun, true), of_now);
        }
        assert!(!lists.is_since(Instant::now(), false));
    }

    #[test]
    fn a_list_is_fresh_for_as_long_as_its_server_says() {
        let lists = ServerLists::default();
        assert!(lists.may_have_more(), "nothing is listed yet");
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        for (ttl, age, stale) in [(60_000, 30, false), (60_000, 90, true), (0, 0, false), (0, 2, true)] {
            let round = lists.begin(1, 0, false);
            lists.put_tools(round, listing(ttl), SPOKEN, ago(age));
            assert_eq!(lists.may_have_more(), stale, "{ttl} ms, {age} s");
        }
        let round = lists.begin(1, 0, false);
        lists.put_tools(round, Arc::default(), SPOKEN, ago(299));
        assert!(!lists.may_have_more(), "a server that does not say is believed for five minutes");
    }
}
