//! Whatever happens in whatever order: an execution ends, in time, and starts no candidate that it must not start.

use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Strategy as Arbitrary;
use std::sync::Arc;
use toolhub::model::Strategy;
use toolhub::tool::SentFlag;

/// What a candidate does once it is started or stopped, or what happens to the driver.
#[derive(Clone, Debug)]
enum Event {
    Succeed(usize),
    Fail {
        who: usize,
        proves_nothing_happened: bool,
    },
    Gone(usize),
    /// A waiting candidate begins: its function, or the first byte of its request.
    Begin(usize),
    /// Nothing of what a candidate was about to send has left.
    TakeBack(usize),
    /// Time passes, but never beyond the moment at which the run wants to be woken.
    Wait(u64),
    Tick,
    Cancel,
    Close,
}

#[derive(Clone, Debug)]
struct Case {
    rules: Rules,
    timeouts: Vec<u64>,
    /// Whose schema refuses the arguments.
    refuses: Vec<bool>,
    /// Who has no effects.
    harmless: Vec<bool>,
    /// Who has to wait before it begins: for a place, a thread, a server.
    queues: Vec<bool>,
    /// Who begins on another thread.
    elsewhere: Vec<bool>,
    events: Vec<Event>,
}

fn any_rules() -> impl Arbitrary<Value = Rules> {
    let strategy = proptest::sample::select(Strategy::ALL.to_vec());
    let healthy = prop_oneof![2 => Just(ALL_HEALTHY), 1 => 0usize..8];
    let hedge = option::weighted(0.4, 1u64..400);
    let deadline = option::weighted(0.3, 1u64..3_000);
    (strategy, 0usize..6, healthy, hedge, any::<bool>(), deadline, 1u64..1_000).prop_map(
        |(strategy, batch, healthy, hedge, guarded, deadline, grace)| Rules {
            strategy,
            batch,
            healthy,
            hedge_after: hedge.map(ms),
            guarded,
            deadline: deadline.map(ms),
            grace: ms(grace),
        },
    )
}

fn any_event() -> impl Arbitrary<Value = Event> {
    prop_oneof![
        2 => (0usize..8).prop_map(Event::Succeed),
        5 => (0usize..8, any::<bool>())
            .prop_map(|(who, proves)| Event::Fail { who, proves_nothing_happened: proves }),
        3 => (0usize..8).prop_map(Event::Gone),
        3 => (0usize..8).prop_map(Event::Begin),
        1 => (0usize..8).prop_map(Event::TakeBack),
        5 => (1u64..300).prop_map(Event::Wait),
        2 => Just(Event::Tick),
        1 => Just(Event::Cancel),
        1 => Just(Event::Close),
    ]
}

fn any_case() -> impl Arbitrary<Value = Case> {
    let some = || vec(proptest::bool::weighted(0.2), 8);
    let often = || vec(proptest::bool::weighted(0.5), 8);
    let slots = (some(), some(), often(), often());
    (any_rules(), vec(1u64..1_000, 0..8), slots, vec(any_event(), 0..40)).prop_map(
        |(rules, timeouts, (refuses, harmless, queues, elsewhere), events)| Case {
            rules,
            timeouts,
            refuses,
            harmless,
            queues,
            elsewhere,
            events,
        },
    )
}

/// A driver that keeps its word, and a witness that writes down what it sees.
struct Witness {
    case: Case,
    hand: Hand,
    now: u64,
    started: Vec<usize>,
    /// Started, neither ended nor stopped.
    running: Vec<usize>,
    /// Stopped, not yet gone.
    stopping: Vec<usize>,
    won: Vec<usize>,
    /// Of which something was really sent.
    sent: Vec<usize>,
    /// The flags of those that begin on another thread.
    flags: Vec<Option<Arc<SentFlag>>>,
    /// A candidate may have had effects.
    may_have_run: bool,
}

impl Witness {
    fn new(case: Case) -> Result<Self, TestCaseError> {
        let mut hand = Hand::with_timeouts(case.rules.clone(), &case.timeouts);
        for slot in (0..case.timeouts.len()).filter(|slot| case.harmless[*slot]) {
            hand.run.set_harmless(slot);
        }
        let flags = case.timeouts.iter().map(|_| None).collect();
        let mut witness = Witness {
            case,
            hand,
            now: 0,
            started: vec![],
            running: vec![],
            stopping: vec![],
            won: vec![],
            sent: vec![],
            flags,
            may_have_run: false,
        };
        witness.obey()?;
        Ok(witness)
    }

    /// Does what the run says, and checks that it may say so.
    fn obey(&mut self) -> Result<(), TestCaseError> {
        for slot in self.hand.stops() {
            let Some(at) = self.running.iter().position(|s| *s == slot) else {
                return Err(TestCaseError::fail(format!("{slot} was asked to stop but does not run")));
            };
            self.running.remove(at);
            self.stopping.push(slot);
            let sent = self.sent.contains(&slot);
            self.may_have_run |=
                sent && !self.case.harmless[slot] && self.hand.run.fate(slot) == Fate::TimedOut;
            prop_assert_eq!(self.hand.run.never_sent(slot), !sent);
        }
        while let Some(slot) = self.hand.next_start() {
            self.check_start(slot)?;
            self.started.push(slot);
            if self.case.refuses[slot] {
                self.hand.rejected(slot, self.now);
                continue;
            }
            self.running.push(slot);
            if self.case.elsewhere[slot] {
                self.flags[slot] = Some(self.hand.run.share_flag(slot));
            }
            if !self.case.queues[slot] {
                prop_assert!(self.begins(slot), "{} runs, and must not begin", slot);
            }
        }
        Ok(())
    }

    fn check_start(&self, slot: usize) -> Result<(), TestCaseError> {
        let rules = &self.case.rules;
        let together = if rules.strategy == Strategy::Fallback { 1 } else { rules.batch.max(1) };
        prop_assert!(self.hand.run.decision().is_none(), "{} started after the decision", slot);
        prop_assert!(!self.started.contains(&slot), "{} started twice", slot);
        prop_assert_eq!(slot, self.started.len(), "out of order");
        prop_assert!(self.running.len() < together, "{} runs beside {:?}", slot, &self.running);
        prop_assert!(!(rules.guarded && self.may_have_run), "{} started after possible effects", slot);
        prop_assert!(slot < rules.healthy || self.running.is_empty(), "{} rests, others run", slot);
        prop_assert!(self.won.is_empty() || rules.strategy == Strategy::All, "a candidate has won already");
        Ok(())
    }

    fn happens(&mut self, event: &Event) -> Result<(), TestCaseError> {
        match *event {
            Event::Succeed(who) => {
                if let Some(slot) = take(&mut self.running, who) {
                    prop_assert!(self.begins(slot), "{} runs, and must not begin", slot);
                    prop_assert!(self.hand.succeeded(slot, self.now), "an answer in time counts");
                    self.won.push(slot);
                } else if let Some(slot) = take(&mut self.stopping, who) {
                    prop_assert!(!self.hand.succeeded(slot, self.now), "a late answer is dropped");
                }
            }
            Event::Fail { who, proves_nothing_happened: proves } => {
                if let Some(slot) = take(&mut self.running, who) {
                    // One of which nothing was sent proves it without a word.
                    let is_sent = self.sent.contains(&slot);
                    self.may_have_run |= is_sent && !proves && !self.case.harmless[slot];
                    prop_assert!(self.hand.run.failed(slot, proves, self.hand.at(self.now)));
                } else if let Some(slot) = take(&mut self.stopping, who) {
                    prop_assert!(!self.hand.run.failed(slot, proves, self.hand.at(self.now)));
                }
            }
            Event::Gone(who) => {
                if let Some(slot) = take(&mut self.stopping, who) {
                    self.hand.run.stopped(slot);
                }
            }
            // The sender may be late: after the end of its candidate it must not send.
            Event::Begin(who) => {
                if let Some(slot) = one_of(&self.started, who).filter(|slot| !self.case.refuses[*slot]) {
                    let runs = self.running.contains(&slot);
                    prop_assert_eq!(self.begins(slot), runs, "{} runs: {}", slot, runs);
                }
            }
            Event::TakeBack(who) => {
                let flag =
                    one_of(&self.started, who).and_then(|slot| Some((slot, self.flags[slot].clone()?)));
                if let Some((slot, flag)) = flag {
                    flag.reopen();
                    // What was decided stays decided.
                    if self.running.contains(&slot) {
                        self.sent.retain(|sent| *sent != slot);
                    }
                }
            }
            Event::Wait(millis) => {
                let end = self.now + millis;
                match self.hand.wake_at() {
                    Some(wake) if wake <= end => self.tick(wake)?,
                    _ => self.now = end,
                }
            }
            Event::Tick => self.tick(self.now)?,
            Event::Cancel => self.hand.cancel(self.now),
            Event::Close => self.hand.close(self.now),
        }
        self.obey()
    }

    /// A sender asks whether it may send, and does if so.
    fn begins(&mut self, slot: usize) -> bool {
        let may = match &self.flags[slot] {
            Some(flag) => flag.may_begin(),
            None => self.hand.run.begin_here(slot),
        };
        if may && !self.sent.contains(&slot) {
            self.sent.push(slot);
        }
        may
    }

    fn tick(&mut self, at: u64) -> Result<(), TestCaseError> {
        prop_assert!(at >= self.now, "the run wanted to be woken at {}, and it is {}", at, self.now);
        self.now = at;
        self.hand.tick(at);
        self.obey()?;
        let wake = self.hand.wake_at();
        prop_assert!(wake.is_none_or(|wake| wake > at), "woken at {} to be woken at {:?}: busy", at, wake);
        Ok(())
    }

    /// From here on no candidate answers or ends: only time passes.
    fn silence(&mut self) -> Result<(), TestCaseError> {
        let mut ticks = 0;
        while let Some(wake) = self.hand.wake_at() {
            self.tick(wake)?;
            ticks += 1;
            prop_assert!(ticks <= 3 * self.case.timeouts.len() + 3, "it does not come to an end");
        }
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), TestCaseError> {
        let run = &self.hand.run;
        prop_assert!(run.is_finished());
        prop_assert!(self.running.is_empty(), "{:?} neither ended nor were stopped", &self.running);
        self.won.sort_unstable();
        prop_assert_eq!(self.hand.winners(), self.won.clone());
        prop_assert!(self.won.len() <= 1 || self.case.rules.strategy == Strategy::All);
        let all_tried = self.started.len() == self.case.timeouts.len();
        match run.decision() {
            Some(Decision::Won) => prop_assert!(!self.won.is_empty()),
            Some(Decision::Exhausted) => {
                let blocked = self.case.rules.guarded && self.may_have_run;
                prop_assert!(self.won.is_empty() && (all_tried || blocked), "gave up too early");
            }
            Some(Decision::DeadlinePassed) => prop_assert!(self.case.rules.deadline.is_some()),
            Some(Decision::Cancelled) => {
                prop_assert!(self.case.events.iter().any(|e| matches!(e, Event::Cancel)));
            }
            Some(Decision::Closed) => {
                prop_assert!(self.case.events.iter().any(|e| matches!(e, Event::Close)));
            }
            None => return Err(TestCaseError::fail("finished without a decision")),
        }
        for slot in 0..self.case.timeouts.len() {
            let fate = run.fate(slot);
            prop_assert_ne!(fate, Fate::Running);
            prop_assert_eq!(run.never_sent(slot), !self.sent.contains(&slot), "slot {}", slot);
            prop_assert_eq!(fate == Fate::NotTried, !self.started.contains(&slot));
        }
        Ok(())
    }
}

fn one_of(slots: &[usize], who: usize) -> Option<usize> {
    (!slots.is_empty()).then(|| slots[who % slots.len()])
}

/// One of them, if there is any.
fn take(slots: &mut Vec<usize>, who: usize) -> Option<usize> {
    (!slots.is_empty()).then(|| slots.remove(who % slots.len()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_course_of_events_ends_in_time_and_starts_none_wrongly(case in any_case()) {
        let mut witness = Witness::new(case)?;
        for event in witness.case.events.clone() {
            witness.happens(&event)?;
            if witness.hand.run.is_finished() {
                break;
            }
        }
        witness.silence()?;
        witness.check_end()?;
    }

    /// The longest that it can take: every candidate in turn up to its timeout, or the deadline; then the grace.
    #[test]
    fn silence_ends_within_the_timeouts_or_the_deadline_and_the_grace(case in any_case()) {
        let mut witness = Witness::new(Case { events: vec![], ..case })?;
        witness.silence()?;
        witness.check_end()?;
        let rules = &witness.case.rules;
        let one_by_one: u64 = witness.case.timeouts.iter().sum();
        let decided = rules.deadline.map_or(one_by_one, |d| one_by_one.min(d.as_millis() as u64));
        prop_assert!(witness.now <= decided + rules.grace.as_millis() as u64);
    }

    /// A driver with a bug may report what never happened; it gets nonsense, not a panic or an endless run.
    #[test]
    fn reports_about_the_wrong_candidate_neither_panic_nor_hang(case in any_case(), obeys in vec(any::<bool>(), 40)) {
        let count = case.timeouts.len();
        let mut hand = Hand::with_timeouts(case.rules.clone(), &case.timeouts);
        let (mut now, mut started) = (0, vec![]);
        for (event, obeys) in case.events.iter().zip(obeys) {
            let decided = hand.run.decision().is_some();
            if obeys {
                let starts = hand.starts_only();
                prop_assert!(!decided || starts.is_empty());
                started.extend(starts);
                hand.stops();
            }
            match *event {
                Event::Succeed(who) if who < count => _ = hand.succeeded(who, now),
                Event::Fail { who, .. } if who < count && case.refuses[who] => hand.rejected(who, now),
                Event::Fail { who, .. } if who < count => _ = hand.failed(who, now),
                Event::Gone(who) if who < count => hand.run.stopped(who),
                Event::Begin(who) if who < count => _ = hand.run.begin_here(who),
                Event::TakeBack(who) if who < count => hand.run.share_flag(who).reopen(),
                Event::Wait(millis) => now += millis,
                Event::Cancel => hand.cancel(now),
                Event::Close => hand.close(now),
                _ => hand.tick(now),
            }
        }
        let end = now + case.timeouts.iter().sum::<u64>() + case.rules.grace.as_millis() as u64;
        for _ in 0..=(3 * count + 3) {
            started.extend(hand.starts_only());
            now = hand.wake_at().map_or(now, |wake| wake.max(now));
            hand.tick(now);
        }
        prop_assert!(hand.run.is_finished() && now <= end, "not finished at {} of {}", now, end);
        let mut once = started.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), started.len(), "a candidate was started twice: {:?}", started);
    }
}
