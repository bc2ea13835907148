//! The policy of one execution as a state machine without a runtime.
//!
//! Time, endings and cancellation are inputs; [`Action`]s are outputs. A driver (tokio, or the
//! caller's asyncio loop in the Python binding) carries out what [`Run::next_action`] returns, reports what happened,
//! and calls [`Run::tick`] at [`Run::wake_at`].
//!
//! ```text
//! batch ──all failed──► one by one ──none left──► settle ──losers stopped or grace over──► finished
//!   └──────success / deadline / cancelled──────────────┘
//! ```

use smallvec::SmallVec;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_types::model::{FOREVER, Strategy};
use toolhub_types::tool::SentFlag;

/// The rules of one execution, fixed before it starts.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Never `Auto`; `Auto` is treated as `First`.
    pub strategy: Strategy,
    /// How many candidates start together.
    pub batch: usize,
    /// Only the first `healthy` candidates may be part of a batch; the circuit breaker suspends the others.
    pub healthy: usize,
    pub hedge_after: Option<Duration>,
    /// Try the next candidate only after a failure that proves that nothing happened.
    pub guarded: bool,
    /// For the whole execution.
    pub deadline: Option<Duration>,
    /// How long losers are awaited.
    pub grace: Duration,
}

/// What the driver does next, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Stop this candidate, and report [`Run::stopped`] when it has ended.
    Stop(usize),
    /// Continue a candidate that was admitted or suspended; see [`Run::resume`].
    Resume(usize),
    /// Start this candidate; it counts as running from now on.
    Start(usize),
    /// Nothing to do until something happens.
    Wait,
    /// The run is over.
    Finish,
}

/// How an execution was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// At least one success.
    Won,
    /// Every candidate failed, or no other one may be tried.
    Exhausted,
    DeadlinePassed,
    Cancelled,
    /// The hub was closed meanwhile.
    Closed,
}

/// What became of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    NotTried,
    Running,
    /// Its schema refused the arguments; it was never started.
    Rejected,
    Succeeded,
    Failed,
    TimedOut,
    /// Lost the race, or the call ended before it did.
    Stopped,
}

#[derive(Debug)]
struct Slot {
    fate: Fate,
    /// What the driver has to do with it; [`Action::Wait`]: nothing.
    due: Action,
    /// Asked to stop, not ended yet.
    stopping: bool,
    /// Of an attempt that no other thread begins: most need no allocation for it.
    own_flag: SentFlag,
    shared_flag: Option<Arc<SentFlag>>,
    /// Its failure proves that nothing happened.
    proves_nothing_happened: bool,
    /// Has no effects: the next candidate may be tried after its failure, even in a guarded run.
    harmless: bool,
    started: Option<Instant>,
    ended: Option<Instant>,
    timeout: Duration,
}

impl Slot {
    fn sent(&self) -> &SentFlag {
        self.shared_flag.as_deref().unwrap_or(&self.own_flag)
    }
}

pub struct Run {
    rules: Rules,
    slots: SmallVec<[Slot; 4]>,
    next: usize,
    one_by_one: bool,
    begun: Instant,
    hedge_at: Option<Instant>,
    settle_until: Option<Instant>,
    decision: Option<Decision>,
    finished: bool,
}

impl Run {
    /// `timeouts` has one entry per candidate, in the order in which they are tried.
    pub fn new(mut rules: Rules, timeouts: impl IntoIterator<Item = Duration>, now: Instant) -> Self {
        rules.deadline = rules.deadline.map(|deadline| deadline.min(FOREVER));
        rules.hedge_after = rules.hedge_after.map(|after| after.min(FOREVER));
        rules.grace = rules.grace.min(FOREVER);
        let slots: SmallVec<[Slot; 4]> = timeouts
            .into_iter()
            .map(|timeout| Slot {
                fate: Fate::NotTried,
                due: Action::Wait,
                stopping: false,
                own_flag: SentFlag::default(),
                shared_flag: None,
                proves_nothing_happened: false,
                harmless: false,
                started: None,
                ended: None,
                timeout: timeout.min(FOREVER),
            })
            .collect();
        let is_alone = slots.len() <= 1 || rules.healthy == 0 || rules.batch <= 1;
        let one_by_one = is_alone || rules.strategy == Strategy::Fallback;
        let mut run = Run {
            rules,
            slots,
            next: 0,
            one_by_one,
            begun: now,
            hedge_at: None,
            settle_until: None,
            decision: None,
            finished: false,
        };
        run.advance(now);
        run
    }

    fn most_urgent(&self) -> Action {
        self.slots.iter().map(|slot| slot.due).min().unwrap_or(Action::Wait)
    }

    /// What to do next: stops first, then candidates that may continue, then new ones, then the end.
    pub fn next_action(&mut self) -> Action {
        let next = self.most_urgent();
        match next {
            Action::Stop(slot) | Action::Resume(slot) | Action::Start(slot) => {
                self.slots[slot].due = Action::Wait;
            }
            _ if self.finished => return Action::Finish,
            _ => {}
        }
        next
    }

    /// Whether [`Run::next_action`] would return anything but [`Action::Wait`].
    pub fn has_work(&self) -> bool {
        self.finished || self.most_urgent() != Action::Wait
    }

    /// The next candidate to stop. Report [`Run::stopped`] when it has ended.
    pub fn next_stop(&mut self) -> Option<usize> {
        let Action::Stop(slot) = self.most_urgent() else { return None };
        self.slots[slot].due = Action::Wait;
        Some(slot)
    }

    /// A candidate that waited, for a free slot or for its own coroutine, can continue. False if it was stopped meanwhile.
    pub fn resume(&mut self, slot: usize) -> bool {
        let is_running = self.slots[slot].fate == Fate::Running;
        if is_running {
            self.slots[slot].due = Action::Resume(slot);
        }
        is_running
    }

    /// Counts the deadline and the duration from an earlier moment: the call began before its candidates were known.
    pub fn count_from(&mut self, begun: Instant, now: Instant) {
        self.begun = begun;
        self.refuse_late(None, now);
    }

    /// Whether the deadline of the whole execution has passed.
    fn is_late(&self, now: Instant) -> bool {
        self.deadline_at().is_some_and(|at| at <= now)
    }

    /// To be asked before a candidate begins. True when the deadline has passed by then, and the execution is over: what is
    /// running is stopped, except for a candidate that is only prepared so far, which was not tried.
    pub fn refuse_late(&mut self, prepared: Option<usize>, now: Instant) -> bool {
        let late = self.decision.is_none() && self.is_late(now);
        if late {
            if let Some(slot) = prepared {
                self.slots[slot].due = Action::Start(slot);
            }
            self.decide(Decision::DeadlinePassed, now);
        }
        late
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    pub fn decision(&self) -> Option<Decision> {
        self.decision
    }

    pub fn fate(&self, slot: usize) -> Fate {
        self.slots[slot].fate
    }

    /// Whether this candidate was started, for all that is known here.
    pub fn was_tried(&self, slot: usize) -> bool {
        !matches!(self.fate(slot), Fate::NotTried | Fate::Rejected)
    }

    pub fn timeout(&self, slot: usize) -> Duration {
        self.slots[slot].timeout
    }

    /// Marks a candidate without effects: after its failure the next one may be tried even in a guarded run.
    pub fn set_harmless(&mut self, slot: usize) {
        self.slots[slot].harmless = true;
    }

    /// The driver itself is about to call this candidate. False if the candidate was stopped, and must not be called.
    pub fn begin_here(&self, slot: usize) -> bool {
        self.slots[slot].sent().may_begin()
    }

    /// The flag of a candidate, for whoever sends on another thread.
    pub fn share_flag(&mut self, slot: usize) -> Arc<SentFlag> {
        let Slot { own_flag, shared_flag, .. } = &mut self.slots[slot];
        shared_flag.get_or_insert_with(|| Arc::new(std::mem::take(own_flag))).clone()
    }

    /// Whether nothing of this candidate was sent. Of one that has ended, nothing will be.
    pub fn never_sent(&self, slot: usize) -> bool {
        !self.slots[slot].sent().was_sent()
    }

    /// Whether the failure of this candidate, though it was sent, proves that nothing happened.
    pub fn proves_nothing_happened(&self, slot: usize) -> bool {
        self.slots[slot].proves_nothing_happened
    }

    /// How long a candidate ran; `None` when it was never started.
    pub fn duration(&self, slot: usize, now: Instant) -> Option<Duration> {
        let slot = &self.slots[slot];
        slot.started.map(|started| slot.ended.unwrap_or(now).saturating_duration_since(started))
    }

    /// The candidates that answered, in their order.
    pub fn winners(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|i| self.slots[*i].fate == Fate::Succeeded)
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// When this candidate was started; for one that was not, when the execution was.
    pub fn started(&self, slot: usize) -> Instant {
        self.slots[slot].started.unwrap_or(self.begun)
    }

    /// When this candidate ended, if it has.
    pub fn ended(&self, slot: usize) -> Option<Instant> {
        self.slots[slot].ended
    }

    /// When the whole execution must be over.
    pub fn deadline_at(&self) -> Option<Instant> {
        self.rules.deadline.map(|deadline| self.begun + deadline)
    }

    /// True when at most one candidate will ever run at a time from here on: a driver may then run it in place.
    pub fn is_sequential(&self) -> bool {
        self.one_by_one
    }

    /// When this candidate must be stopped: its timeout or the deadline, whichever comes first.
    pub fn expires(&self, slot: usize) -> Option<Instant> {
        let own = self.slots[slot].started.map(|started| started + self.slots[slot].timeout);
        earliest(own, self.deadline_at())
    }

    /// The last moment at which a candidate that had to wait, for a slot or a thread, may begin. With less than a tenth of
    /// its time left it would most likely be given up while it runs, and nothing would be known about its outcome.
    pub fn latest_start(&self, slot: usize) -> Option<Instant> {
        let expires = self.expires(slot)?;
        Some(expires - expires.saturating_duration_since(self.started(slot)) / 10)
    }

    /// When [`Run::tick`] wants to be called next.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.finished {
            return None;
        }
        if self.decision.is_some() {
            return self.settle_until;
        }
        let expiry = (0..self.slots.len())
            .filter(|i| self.slots[*i].fate == Fate::Running)
            .filter_map(|i| self.expires(i))
            .min();
        earliest(earliest(expiry, self.deadline_at()), self.hedge_at)
    }

    /// The arguments do not fit this candidate: it was not started and the next one takes its place.
    pub fn rejected(&mut self, slot: usize, now: Instant) {
        if self.slots[slot].fate != Fate::Running {
            return self.stopped(slot);
        }
        // The turn is still due; that this one did not fit does not use it up.
        self.hedge_at = self.rules.hedge_after.filter(|_| !self.one_by_one).map(|_| now);
        self.slots[slot].fate = Fate::Rejected;
        self.slots[slot].started = None;
        self.advance(now);
    }

    /// Returns false when the answer came too late to count.
    pub fn succeeded(&mut self, slot: usize, now: Instant) -> bool {
        self.end(slot, Fate::Succeeded, false, now)
    }

    /// Returns false when the failure came too late to count.
    pub fn failed(&mut self, slot: usize, proves_nothing_happened: bool, now: Instant) -> bool {
        self.end(slot, Fate::Failed, proves_nothing_happened, now)
    }

    /// A candidate that was asked to stop has ended.
    pub fn stopped(&mut self, slot: usize) {
        if std::mem::take(&mut self.slots[slot].stopping) {
            self.finish_if_settled();
        }
    }

    /// The caller cancelled: stop everything.
    pub fn cancel(&mut self, now: Instant) {
        if self.decision.is_none() {
            self.decide(Decision::Cancelled, now);
        }
    }

    /// The hub is closed: stop everything. False when the execution was decided already, and ends by itself.
    pub fn close(&mut self, now: Instant) -> bool {
        let undecided = self.decision.is_none();
        if undecided {
            self.decide(Decision::Closed, now);
        }
        undecided
    }

    pub fn tick(&mut self, now: Instant) {
        if self.decision.is_some() {
            self.finished |= self.settle_until.is_some_and(|until| until <= now);
            return;
        }
        if self.refuse_late(None, now) {
            return;
        }
        for slot in 0..self.slots.len() {
            let due = self.slots[slot].started.is_some_and(|at| at + self.slots[slot].timeout <= now);
            if self.slots[slot].fate == Fate::Running && due {
                self.stop(slot, Fate::TimedOut, now);
            }
        }
        self.advance(now);
    }

    /// After effects that may have happened no other candidate is tried in a guarded run.
    fn is_blocked(&self) -> bool {
        let may_have_acted = |slot: &Slot| {
            let is_over = matches!(slot.fate, Fate::Failed | Fate::TimedOut);
            is_over && slot.sent().was_sent() && !slot.harmless && !slot.proves_nothing_happened
        };
        self.rules.guarded && self.slots.iter().any(may_have_acted)
    }

    /// Ends a running candidate. For a stopped one, only records that it has ended.
    fn end(&mut self, slot: usize, fate: Fate, proves_nothing_happened: bool, now: Instant) -> bool {
        let counts = self.slots[slot].fate == Fate::Running;
        if counts {
            self.over(slot, fate, now);
            self.slots[slot].proves_nothing_happened = proves_nothing_happened;
            self.advance(now);
        } else {
            self.stopped(slot);
        }
        counts
    }

    /// From here on nothing of this candidate is sent, whatever ended it.
    fn over(&mut self, slot: usize, fate: Fate, now: Instant) {
        let slot = &mut self.slots[slot];
        slot.sent().end();
        (slot.fate, slot.due, slot.ended) = (fate, Action::Wait, Some(now));
    }

    fn stop(&mut self, slot: usize, fate: Fate, now: Instant) {
        self.over(slot, fate, now);
        self.slots[slot].stopping = true;
        self.slots[slot].due = Action::Stop(slot);
    }

    fn advance(&mut self, now: Instant) {
        if self.decision.is_some() {
            return;
        }
        let whole_batch = self.rules.strategy == Strategy::All && !self.one_by_one;
        let is_out = |run: &Run| !run.is_running() && run.batch_is_out();
        let has_won = self.winners().next().is_some();
        if has_won && (!whole_batch || is_out(self)) {
            return self.decide(Decision::Won, now);
        }
        self.one_by_one = self.one_by_one || (!has_won && is_out(self));
        while self.may_start(now) {
            if self.is_late(now) {
                return self.decide(Decision::DeadlinePassed, now);
            }
            self.start(now);
        }
        // A hedge that is due but could not start must not wake the driver again and again.
        self.hedge_at = self.hedge_at.filter(|at| *at > now);
        if !self.is_running() {
            self.decide(if has_won { Decision::Won } else { Decision::Exhausted }, now);
        }
    }

    fn is_running(&self) -> bool {
        self.slots.iter().any(|slot| slot.fate == Fate::Running)
    }

    fn batch_is_out(&self) -> bool {
        let launched = || self.slots[..self.next].iter().filter(|slot| slot.fate != Fate::Rejected).count();
        self.one_by_one
            || launched() >= self.rules.batch
            || self.next >= self.slots.len().min(self.rules.healthy)
            || self.is_blocked()
    }

    fn may_start(&self, now: Instant) -> bool {
        if self.is_blocked() || self.next >= self.slots.len() {
            return false;
        }
        if self.one_by_one {
            return !self.is_running();
        }
        let hedging = self.rules.hedge_after.is_some() && self.rules.strategy != Strategy::All;
        let its_turn = !hedging || !self.is_running() || self.hedge_at.is_some_and(|at| at <= now);
        !self.batch_is_out() && its_turn
    }

    fn start(&mut self, now: Instant) {
        let slot = self.next;
        self.next += 1;
        let started = &mut self.slots[slot];
        (started.fate, started.due, started.started) = (Fate::Running, Action::Start(slot), Some(now));
        let more = !self.one_by_one && !self.batch_is_out() && self.rules.strategy != Strategy::All;
        self.hedge_at = self.rules.hedge_after.filter(|_| more).map(|after| now + after);
    }

    fn decide(&mut self, decision: Decision, now: Instant) {
        self.decision = Some(decision);
        self.hedge_at = None;
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            match slot.due {
                // Not yet begun by the driver: nothing to stop.
                Action::Start(_) => {
                    (slot.fate, slot.due, slot.started) = (Fate::NotTried, Action::Wait, None);
                }
                _ if slot.fate == Fate::Running => self.stop(at, Fate::Stopped, now),
                _ => {}
            }
        }
        self.settle_until = Some(now + self.rules.grace);
        self.finish_if_settled();
    }

    fn finish_if_settled(&mut self) {
        self.finished |= self.decision.is_some() && !self.slots.iter().any(|slot| slot.stopping);
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}
