//! Calls that are held back until it is certain that they were not only thought of.
//!
//! A hold starts with a checkpoint. What is found after it stays inside: the events are not handed out and the calls are not
//! shown. Either the hold ends, and all of it counts; or the closing tag of reasoning comes, and
//! everything after the checkpoint becomes text.

use super::parsed::Event;

/// The state to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub head: usize,
    pub head_chars: usize,
    pub events: usize,
    pub calls: usize,
    pub settled: usize,
}

/// What is held back, and why.
#[derive(Default)]
pub(super) struct HeldCalls {
    /// The text may have begun inside of reasoning.
    pub undecided: bool,
    /// Before the first call of a text that is undecided.
    pub first: Option<Checkpoint>,
    /// Opening tags that may open reasoning or be words about it, such as one in the middle of a line. At most one for each
    /// closing tag.
    pub expected: Vec<ExpectedTag>,
}

/// An opening tag that counts if its closing tag follows.
pub(super) struct ExpectedTag {
    pub close: &'static str,
    /// Before the first call after the opening tag; never before `HeldCalls::first`, and not before that of an earlier tag.
    pub since: Option<Checkpoint>,
}

impl HeldCalls {
    /// Notes the state before a call.
    pub fn before_call(&mut self, now: Checkpoint) {
        if self.undecided {
            self.first.get_or_insert(now);
        }
        self.expected.iter_mut().for_each(|tag| _ = tag.since.get_or_insert(now));
    }

    /// Notes an opening tag whose closing tag may follow.
    pub fn opened(&mut self, close: &'static str) {
        if self.expected.iter().all(|tag| tag.close != close) {
            self.expected.push(ExpectedTag { close, since: None });
        }
    }

    /// The checkpoint of an opening tag whose closing tag has come, which forgets what was opened inside; `None` if there is no
    /// such tag.
    pub fn close(&mut self, close: &str) -> Option<Option<Checkpoint>> {
        let index = self.expected.iter().position(|tag| tag.close == close)?;
        self.expected.drain(index..).next().map(|tag| tag.since)
    }

    /// All of it was only thought: returns the checkpoint before it. The doubt remains, and tags that were opened may still close.
    pub fn take_all(&mut self) -> Option<Checkpoint> {
        let start = self.start();
        self.first = None;
        self.expected.iter_mut().for_each(|tag| tag.since = None);
        start
    }

    /// Where the part begins that is held back.
    pub fn start(&self) -> Option<Checkpoint> {
        let expected = || self.expected.iter().find_map(|tag| tag.since);
        self.first.or_else(expected)
    }

    /// The number of events that no later text may be joined to.
    pub fn closed_events(&self) -> usize {
        let expected = || self.expected.iter().rev().find_map(|tag| tag.since);
        expected().or(self.first).map_or(0, |checkpoint| checkpoint.events)
    }

    /// Takes the events that may be shown.
    pub fn take_events(&mut self, events: &mut Vec<Event>) -> Vec<Event> {
        let Some(start) = self.start() else { return std::mem::take(events) };
        // Most deltas add to what is held back, however long that is.
        if start.events == 0 {
            return Vec::new();
        }
        let kept = events.split_off(start.events);
        let expected = self.expected.iter_mut().filter_map(|tag| tag.since.as_mut());
        for checkpoint in self.first.iter_mut().chain(expected) {
            checkpoint.events -= start.events;
        }
        std::mem::replace(events, kept)
    }
}
