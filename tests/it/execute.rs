//! The policy of one execution, driven by hand: no runtime, and no clock but the one in these tests.

use std::time::{Duration, Instant};
use toolhub::execute::{Action, Decision, Fate, Rules, Run};
use toolhub::model::Strategy;

mod batches;
mod guard;
mod hedge;
mod properties;
mod sent;
mod time;

/// No candidate is resting.
const ALL_HEALTHY: usize = usize::MAX;
const NONE: [usize; 0] = [];
const SECOND: u64 = 1_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Batches of 3, all healthy, a grace of one second, nothing else.
fn rules(strategy: Strategy) -> Rules {
    Rules {
        strategy,
        batch: 3,
        healthy: ALL_HEALTHY,
        hedge_after: None,
        guarded: false,
        deadline: None,
        grace: ms(SECOND),
    }
}

/// A driver by hand. Times are milliseconds since the start of the run.
struct Hand {
    run: Run,
    begun: Instant,
    /// Candidates that it was told to stop while it looked for new ones.
    to_stop: Vec<usize>,
}

impl Hand {
    /// This number of candidates, each with the default timeout of 30 s.
    fn new(rules: Rules, count: usize) -> Self {
        Hand::with_timeouts(rules, &vec![30 * SECOND; count])
    }

    fn with_timeouts(rules: Rules, timeouts: &[u64]) -> Self {
        let begun = Instant::now();
        Hand { run: Run::new(rules, timeouts.iter().map(|t| ms(*t)), begun), begun, to_stop: vec![] }
    }

    fn at(&self, millis: u64) -> Instant {
        self.begun + ms(millis)
    }

    /// Starts the candidates, which begin at once.
    fn starts(&mut self) -> Vec<usize> {
        let starts = self.starts_only();
        assert!(starts.iter().all(|slot| self.run.begin_here(*slot)));
        starts
    }

    /// Starts the candidates, which have to wait before they begin.
    fn starts_only(&mut self) -> Vec<usize> {
        std::iter::from_fn(|| self.next_start()).collect()
    }

    fn next_start(&mut self) -> Option<usize> {
        loop {
            match self.run.next_action() {
                Action::Start(slot) => return Some(slot),
                Action::Stop(slot) => self.to_stop.push(slot),
                Action::Resume(_) => {}
                Action::Wait | Action::Finish => return None,
            }
        }
    }

    fn stops(&mut self) -> Vec<usize> {
        let before = std::mem::take(&mut self.to_stop);
        before.into_iter().chain(std::iter::from_fn(|| self.run.next_stop())).collect()
    }

    fn succeeded(&mut self, slot: usize, millis: u64) -> bool {
        self.run.succeeded(slot, self.begun + ms(millis))
    }

    /// A failure that says nothing about what happened.
    fn failed(&mut self, slot: usize, millis: u64) -> bool {
        self.run.failed(slot, false, self.begun + ms(millis))
    }

    fn failed_before_anything_happened(&mut self, slot: usize, millis: u64) -> bool {
        self.run.failed(slot, true, self.begun + ms(millis))
    }

    fn rejected(&mut self, slot: usize, millis: u64) {
        self.run.rejected(slot, self.begun + ms(millis));
    }

    fn tick(&mut self, millis: u64) {
        self.run.tick(self.begun + ms(millis));
    }

    fn cancel(&mut self, millis: u64) {
        self.run.cancel(self.begun + ms(millis));
    }

    fn close(&mut self, millis: u64) {
        self.run.close(self.begun + ms(millis));
    }

    fn wake_at(&self) -> Option<u64> {
        self.run.wake_at().map(|at| at.duration_since(self.begun).as_millis() as u64)
    }

    fn winners(&self) -> Vec<usize> {
        self.run.winners().collect()
    }

    fn fates(&self, count: usize) -> Vec<Fate> {
        (0..count).map(|slot| self.run.fate(slot)).collect()
    }

    /// Over, with no candidate left running and nothing left to do.
    #[track_caller]
    fn assert_finished(&mut self, decision: Decision) {
        assert_eq!(self.run.decision(), Some(decision));
        assert!(self.run.is_finished());
        assert_eq!(self.run.wake_at(), None);
        assert_eq!(self.starts(), NONE);
    }
}
