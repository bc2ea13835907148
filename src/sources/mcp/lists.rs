//! What a server has listed: its tools and skills, with the session and time they come from.
//!
//! Lists are taken in the order in which they were requested. One that was requested earlier and arrives later is dropped.

use super::listing::Listing;
use super::protocol::NegotiatedProtocol;
use super::skills::Skills;
use arc_swap::ArcSwapOption;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Without a `ttlMs`, a list counts as fresh for this long before a missing tool makes the hub list again.
const DEFAULT_TTL: Duration = Duration::from_secs(300);
/// The least time between two lists that missing tools cause, however short a server's `ttlMs` is.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct ServerLists {
    tools: ArcSwapOption<Listing>,
    /// `None` until the server says that it has skills.
    skills: ArcSwapOption<Skills>,
    latest: Mutex<LatestList>,
    /// How many rounds have begun and ended.
    begun: Mutex<u64>,
    ended: Arc<watch::Sender<usize>>,
    running: Arc<Mutex<Vec<RunningEntry>>>,
    publishing: Mutex<()>,
    /// How many of the announced changes are in the list.
    covered: AtomicU64,
    /// The server cannot announce changes, whatever it promises.
    is_silent: AtomicBool,
    /// Somebody waits for the tools of now.
    is_now_wanted: AtomicBool,
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
    number: u64,
    /// When the request was made; `None` for a list of an earlier process.
    requested: Option<Instant>,
    /// How often the way to the server had been interrupted by then.
    breaks: u64,
}

#[derive(Clone, Copy)]
struct RunningEntry {
    round: ListRound,
    /// How many changes were announced before the request was sent.
    changes: u64,
    since: Instant,
}

/// A request for the lists that is running. Dropping it ends the round, whatever came of it.
pub struct RunningRound {
    round: ListRound,
    running: Arc<Mutex<Vec<RunningEntry>>>,
    ended: Arc<watch::Sender<usize>>,
}

impl Drop for RunningRound {
    fn drop(&mut self) {
        self.running.lock().retain(|entry| entry.round != self.round);
        self.ended.send_modify(|ended| *ended += 1);
    }
}

impl ServerLists {
    pub fn tools(&self) -> Option<Arc<Listing>> {
        self.tools.load_full()
    }

    pub fn skills(&self) -> Option<Arc<Skills>> {
        self.skills.load_full()
    }

    pub fn set_skills(&self, skills: Arc<Skills>) {
        self.skills.store(Some(skills));
    }

    pub fn protocol(&self) -> Option<NegotiatedProtocol> {
        self.latest.lock().protocol
    }

    pub fn age(&self) -> Option<Duration> {
        self.latest.lock().at.map(|at| at.elapsed())
    }

    /// Whether a session of this generation has listed its tools.
    pub fn is_of(&self, generation: u64) -> bool {
        self.latest.lock().round.generation == generation
    }

    /// Whether the list is as old as its server allows, or older, or was made before the way to the server was interrupted.
    pub fn is_outdated(&self, breaks: u64) -> bool {
        let latest = *self.latest.lock();
        let ttl = self.tools.load().as_ref().and_then(|listing| listing.ttl_ms).map(Duration::from_millis);
        let age = |at: Instant| ttl.is_some_and(|ttl| at.elapsed() > ttl.max(SHORTEST_TTL));
        latest.round.breaks != breaks || latest.at.is_some_and(age)
    }

    /// Whether the list was requested at this moment or later.
    pub fn is_since(&self, moment: Instant) -> bool {
        self.latest.lock().round.requested.is_some_and(|requested| requested >= moment)
    }

    /// Whether the server may have tools that are not in the list: there is none, or it is no longer fresh.
    pub fn may_have_more(&self) -> bool {
        let Some(age) = self.age() else { return true };
        let ttl = self.tools.load().as_ref().and_then(|listing| listing.ttl_ms).map(Duration::from_millis);
        let default = if self.is_silent.load(Ordering::Relaxed) { SHORTEST_TTL } else { DEFAULT_TTL };
        age > ttl.map_or(default, |ttl| ttl.max(SHORTEST_TTL))
    }

    /// Takes note that the server refuses to announce changes, or that it does not any more.
    pub fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Relaxed);
    }

    /// Takes note that the list has all changes up to this number.
    pub fn cover(&self, changes: u64) {
        self.covered.fetch_max(changes, Ordering::AcqRel);
    }

    /// Whether fewer changes are in the list than were announced.
    pub fn is_behind(&self, changes: u64) -> bool {
        self.covered.load(Ordering::Acquire) < changes
    }

    /// The next request is for the tools of now, also where a hub is in between.
    pub fn want_now(&self) {
        self.is_now_wanted.store(true, Ordering::Release);
    }

    /// Whether the request that begins is for the tools of now.
    pub fn take_wanted_now(&self) -> bool {
        self.is_now_wanted.swap(false, Ordering::AcqRel)
    }

    /// Begins a request for the lists.
    pub fn begin(&self, generation: u64, breaks: u64) -> ListRound {
        let mut begun = self.begun.lock();
        *begun += 1;
        ListRound { generation, number: *begun, requested: Some(Instant::now()), breaks }
    }

    /// The request of this round is sent now. `changes` were announced before.
    pub fn run(&self, round: ListRound, changes: u64) -> RunningRound {
        self.running.lock().push(RunningEntry { round, changes, since: Instant::now() });
        RunningRound { round, running: self.running.clone(), ended: self.ended.clone() }
    }

    /// Whether a request of this session is running whose answer will have all of these changes.
    pub fn is_running(&self, generation: u64, changes: u64) -> bool {
        let covers = |entry: &RunningEntry| entry.round.generation == generation && entry.changes >= changes;
        self.running.lock().iter().any(covers)
    }

    /// Since when the oldest request that is running has no answer.
    pub fn running_since(&self) -> Option<Instant> {
        self.running.lock().iter().map(|entry| entry.since).min()
    }

    /// Wakes those that wait for a round. Called when a session ends.
    pub fn end_round(&self) {
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// Counts the rounds that have ended.
    pub fn ended(&self) -> watch::Receiver<usize> {
        self.ended.subscribe()
    }

    /// Held while a list is taken and published, so that lists are published in the order in which they are taken.
    pub fn publishing(&self) -> MutexGuard<'_, ()> {
        self.publishing.lock()
    }

    /// Whether a list of this round is not older than the one that is there.
    pub fn is_newer(&self, round: ListRound) -> bool {
        round >= self.latest.lock().round
    }

    /// Takes a list from the host of the server. What was spoken with the server stays as it was.
    pub fn put_tools_of_host(&self, round: ListRound, listing: Arc<Listing>) {
        self.tools.store(Some(listing));
        let mut latest = self.latest.lock();
        *latest = LatestList { round, at: Some(Instant::now()), protocol: latest.protocol };
    }

    /// Takes a list of tools that is [newer](Self::is_newer).
    pub fn put_tools(
        &self,
        round: ListRound,
        listing: Arc<Listing>,
        protocol: NegotiatedProtocol,
        at: Option<Instant>,
    ) {
        // In this order: who sees the round finds its tools, or later ones.
        self.tools.store(Some(listing));
        *self.latest.lock() = LatestList { round, at, protocol: Some(protocol) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::protocol::Era;

    const SPOKEN: NegotiatedProtocol = NegotiatedProtocol { era: Era::Modern, version: None };

    fn listing(ttl_ms: u64) -> Arc<Listing> {
        Arc::new(Listing { ttl_ms: Some(ttl_ms), ..Listing::default() })
    }

    #[test]
    fn a_list_that_was_requested_earlier_and_comes_later_is_dropped() {
        let lists = ServerLists::default();
        let (first, second, third) = (lists.begin(1, 0), lists.begin(1, 0), lists.begin(2, 0));
        assert!(lists.is_newer(second));
        lists.put_tools(second, listing(2), SPOKEN, None);
        assert!(!lists.is_newer(first) && lists.is_newer(third));
        lists.put_tools(third, listing(3), SPOKEN, None);
        assert!(!lists.is_newer(second));
        assert_eq!(lists.tools(), Some(listing(3)));
        assert!(lists.is_of(2) && !lists.is_of(1));
    }

    #[test]
    fn a_round_runs_until_it_is_dropped() {
        let lists = ServerLists::default();
        let mut ended = lists.ended();
        let running = lists.run(lists.begin(3, 0), 7);
        assert!(lists.is_running(3, 7) && lists.is_running(3, 6));
        assert!(!lists.is_running(3, 8), "a change that was announced later is not in this list");
        assert!(!lists.is_running(4, 7), "another session has its own list");
        assert!(lists.running_since().is_some() && !ended.has_changed().unwrap());
        drop(running);
        assert!(!lists.is_running(3, 7) && lists.running_since().is_none());
        assert_eq!(*ended.borrow_and_update(), 1);
    }

    #[test]
    fn a_list_is_fresh_for_as_long_as_its_server_says() {
        let lists = ServerLists::default();
        assert!(lists.may_have_more(), "nothing is listed yet");
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        for (ttl, age, stale) in [(60_000, 30, false), (60_000, 90, true), (0, 0, false), (0, 2, true)] {
            let round = lists.begin(1, 0);
            lists.put_tools(round, listing(ttl), SPOKEN, ago(age));
            assert_eq!(lists.may_have_more(), stale, "{ttl} ms, {age} s");
        }
        let round = lists.begin(1, 0);
        lists.put_tools(round, Arc::default(), SPOKEN, ago(299));
        assert!(!lists.may_have_more(), "a server that does not say is believed for five minutes");
    }
}
