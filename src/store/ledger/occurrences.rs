//! Equal calls of one run are told apart by their number. A call that ran keeps its number; one that was refused, paused or
//! ended unknown gives it back, so that repeating it is the same call and not another one.
//!
//! A process keeps one number for each call of a run that it has made: 16 bytes of the key and the number, until the run is
//! released. They cannot be forgotten earlier: the next equal call would be taken for the first one.

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Principal and run.
type RunKey = (String, String);
/// The beginning of the digest of a call's key.
type CallMark = [u8; 16];

#[derive(Default)]
pub struct Occurrences(Mutex<HashMap<RunKey, Arc<Mutex<RunNumbers>>>>);

/// The numbers of one run since it was begun or resumed.
#[derive(Default)]
struct RunNumbers {
    /// The first number that was never given out.
    next: HashMap<CallMark, u32>,
    /// Smaller numbers that were given back.
    free: HashMap<CallMark, BTreeSet<u32>>,
}

impl Occurrences {
    /// The smallest number that no other call with this key has.
    pub fn take(&self, principal: &str, run: &str, key: &str) -> OccurrenceTicket {
        let numbers = self.0.lock().entry((principal.to_owned(), run.to_owned())).or_default().clone();
        let mut call = CallMark::default();
        call.copy_from_slice(&digest(&SHA256, key.as_bytes()).as_ref()[..16]);
        let number = numbers.lock().take(call);
        OccurrenceTicket { numbers: Some(numbers), call, number }
    }

    /// Counts the calls of a run from the beginning. Tickets that are out belong to the time before.
    pub fn restart(&self, principal: &str, run: &str) {
        self.0.lock().remove(&(principal.to_owned(), run.to_owned()));
    }
}

impl RunNumbers {
    fn take(&mut self, call: CallMark) -> u32 {
        if let Some(number) = self.free.get_mut(&call).and_then(BTreeSet::pop_first) {
            return number;
        }
        let next = self.next.entry(call).or_default();
        *next += 1;
        *next - 1
    }

    fn give_back(&mut self, call: CallMark, number: u32) {
        let free = self.free.entry(call).or_default();
        free.insert(number);
        let Some(next) = self.next.get_mut(&call) else { return };
        while *next > 0 && free.remove(&(*next - 1)) {
            *next -= 1;
        }
        let (is_unused, has_none) = (*next == 0, free.is_empty());
        if is_unused {
            self.next.remove(&call);
        }
        if has_none {
            self.free.remove(&call);
        }
    }
}

/// The number of a call, given back unless it is consumed.
pub struct OccurrenceTicket {
    numbers: Option<Arc<Mutex<RunNumbers>>>,
    call: CallMark,
    pub number: u32,
}

impl OccurrenceTicket {
    /// The call is over: the next equal one is another one.
    pub fn consume(mut self) {
        self.numbers = None;
    }
}

impl Drop for OccurrenceTicket {
    fn drop(&mut self) {
        if let Some(numbers) = &self.numbers {
            numbers.lock().give_back(self.call, self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is taken, consumed and given back: a number is the smallest that nobody has, and what was given back
        /// leaves nothing behind.
        #[test]
        fn a_number_is_the_smallest_free_one(steps in proptest::collection::vec((0_usize..8, 0..3), 0..200)) {
            let occurrences = Occurrences::default();
            let (mut out, mut kept) = (Vec::new(), BTreeSet::new());
            for (at, step) in steps {
                if step == 0 || out.is_empty() {
                    let ticket = occurrences.take("", "monday", "pay");
                    let taken: BTreeSet<u32> =
                        out.iter().map(|one: &OccurrenceTicket| one.number).chain(kept.iter().copied()).collect();
                    prop_assert_eq!(Some(ticket.number), (0..).find(|number| !taken.contains(number)));
                    out.push(ticket);
                } else {
                    let ticket = out.swap_remove(at % out.len());
                    if step == 1 {
                        kept.insert(ticket.number);
                        ticket.consume();
                    }
                }
            }
            drop(out);
            let runs = occurrences.0.lock();
            for numbers in runs.values() {
                let numbers = numbers.lock();
                prop_assert_eq!(numbers.next.is_empty(), kept.is_empty());
                let free: usize = numbers.free.values().map(BTreeSet::len).sum();
                prop_assert_eq!(free + kept.len(), numbers.next.values().sum::<u32>() as usize);
            }
        }
    }

    #[test]
    fn a_ticket_from_before_a_restart_gives_nothing_back() {
        let occurrences = Occurrences::default();
        let before = occurrences.take("", "monday", "pay");
        occurrences.restart("", "monday");
        let first = occurrences.take("", "monday", "pay");
        drop(before);
        assert_eq!((first.number, occurrences.take("", "monday", "pay").number), (0, 1));
    }
}
