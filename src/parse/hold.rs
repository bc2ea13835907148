//! Calls that are held back until it is certain that they were not only thought of.
//!
//! A hold starts with a checkpoint. What is found after it stays inside: the events are not handed out and the calls are not
//! shown. Either the hold ends, and all of it counts; or the closing tag of reasoning comes, and everything after the
//! checkpoint becomes text.

use super::found::FoundCall;
use super::parsed::Event;

/// The state to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub head: usize,
    pub head_chars: usize,
    pub events: usize,
    pub calls: usize,
    pub settled: usize,
    pub format: Option<&'static str>,
}

/// What is held back, and why.
#[derive(Default)]
pub(super) struct Hold {
    /// The text may have begun inside of reasoning.
    pub undecided: bool,
    /// Before the first call of a text that is undecided.
    pub first: Option<Checkpoint>,
    /// The closing tag of an opening tag in the middle of a line, which may open reasoning or be a word about it.
    pub expected: Option<&'static str>,
    /// Before the first call after that opening tag; never before `first`.
    pub since_expected: Option<Checkpoint>,
}

impl Hold {
    /// Notes the state before a call.
    pub fn before_call(&mut self, now: Checkpoint) {
        let wants_first = self.undecided && self.first.is_none();
        let wants_expected = self.expected.is_some() && self.since_expected.is_none();
        self.first = self.first.or(wants_first.then_some(now));
        self.since_expected = self.since_expected.or(wants_expected.then_some(now));
    }

    /// Where the part begins that is held back.
    pub fn start(&self) -> Option<Checkpoint> {
        self.first.or(self.since_expected)
    }

    /// The number of events that no later text may be joined to.
    pub fn closed_events(&self) -> usize {
        self.since_expected.or(self.first).map_or(0, |checkpoint| checkpoint.events)
    }

    /// Takes the events that may be shown.
    pub fn take_events(&mut self, events: &mut Vec<Event>) -> Vec<Event> {
        let Some(start) = self.start() else { return std::mem::take(events) };
        // Most deltas add to what is held back, however long that is.
        if start.events == 0 {
            return Vec::new();
        }
        let kept = events.split_off(start.events);
        for checkpoint in self.first.iter_mut().chain(self.since_expected.iter_mut()) {
            checkpoint.events -= start.events;
        }
        std::mem::replace(events, kept)
    }

    /// The calls from this index on that may be shown.
    pub fn visible<'a>(&self, calls: &'a [FoundCall], from: usize) -> &'a [FoundCall] {
        let to = self.start().map_or(calls.len(), |start| start.calls);
        calls.get(from..to).unwrap_or_default()
    }
}
