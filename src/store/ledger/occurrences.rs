//! Equal calls of one run are told apart by their number: how many came before since the run was begun or resumed. A call takes
//! its number when it is planned and keeps it, whatever becomes of it. A program that is started again therefore meets the same
//! numbers in the same order, also where a call was refused, paused or not sent the first time.
//!
//! A call that ends without a result that the run keeps stays open. The next equal call of the program may be the same one made
//! again, so the ledger is asked about the open ones before it: one that may have happened holds it back.
//!
//! A process keeps the next number for each call of a run that it has made (16 bytes of the key, the number, and the definition of
//! the last effect) until the run is released. They cannot be forgotten earlier: the next equal call would be taken for the first
//! one.

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Principal and run.
type RunKey = (String, String);
/// The beginning of the digest of a call's key, of a provider or of its definition.
type CallMark = [u8; 16];
/// The providers of a call, and what they are.
type ProviderMarks = Arc<[(CallMark, CallMark)]>;
type RunNumbers = Arc<Mutex<HashMap<CallMark, CallNumbers>>>;

#[derive(Default)]
pub struct Occurrences(Mutex<HashMap<RunKey, RunNumbers>>);

/// The numbers of equal calls.
#[derive(Default)]
struct CallNumbers {
    next: u32,
    /// Those of calls that have ended without a result.
    open: BTreeSet<u32>,
    /// The last one that may have had an effect and is over, and its definition.
    made: Option<(u32, ProviderMarks)>,
}

impl Occurrences {
    /// The next number of a call with this key.
    pub fn take(&self, principal: &str, run: &str, key: &str) -> OccurrenceTicket {
        let numbers = self.0.lock().entry((principal.to_owned(), run.to_owned())).or_default().clone();
        let call = mark(key);
        let number = {
            let mut numbers = numbers.lock();
            let numbers = numbers.entry(call).or_default();
            numbers.next += 1;
            numbers.next - 1
        };
        OccurrenceTicket {
            numbers,
            call,
            number,
            providers: OnceLock::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Counts the calls of a run from the beginning. Tickets that are out belong to the time before.
    pub fn restart(&self, principal: &str, run: &str) {
        self.0.lock().remove(&(principal.to_owned(), run.to_owned()));
    }
}

fn mark(text: &str) -> CallMark {
    let mut mark = CallMark::default();
    mark.copy_from_slice(&digest(&SHA256, text.as_bytes()).as_ref()[..16]);
    mark
}

/// The number of a call. When it is dropped, the call is open unless it is over.
pub struct OccurrenceTicket {
    numbers: RunNumbers,
    call: CallMark,
    pub number: u32,
    /// Those that the call would be made with, if it may have an effect.
    providers: OnceLock<ProviderMarks>,
    is_over: AtomicBool,
}

impl OccurrenceTicket {
    /// The run has the result of the call.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let Some(providers) = self.providers.get() else { return };
        if let Some(known) = self.numbers.lock().get_mut(&self.call)
            && known.made.as_ref().is_none_or(|(number, _)| *number < self.number)
        {
            known.made = Some((self.number, providers.clone()));
        }
    }

    /// Notes the providers of a call that may have an effect, and what they are. Returns the number of the last equal one that this
    /// process has made, if one of them was something else then. One that came or went in between changes nothing for the others.
    pub fn made_otherwise(&self, providers: &[(String, String)]) -> Option<u32> {
        let marks = || providers.iter().map(|(provider, what)| (mark(provider), mark(what))).collect();
        let now = self.providers.get_or_init(marks);
        let numbers = self.numbers.lock();
        let (number, made) = numbers.get(&self.call)?.made.as_ref()?;
        let differs = |(provider, what): &(CallMark, CallMark)| {
            now.iter().any(|(other, now)| other == provider && now != what)
        };
        (*number < self.number && made.iter().any(differs)).then_some(*number)
    }

    /// The call of this number was this one, made again: the next equal call comes after both.
    pub fn skip_to(&self, number: u32) {
        if let Some(known) = self.numbers.lock().get_mut(&self.call) {
            known.next = known.next.max(number.saturating_add(1));
        }
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// The equal calls before this one that are open.
    pub fn open_before(&self) -> Vec<u32> {
        let numbers = self.numbers.lock();
        numbers
            .get(&self.call)
            .map_or_else(Vec::new, |known| known.open.range(..self.number).copied().collect())
    }

    /// These calls need not be asked about again.
    pub fn close(&self, decided: &[u32]) {
        if let Some(known) = self.numbers.lock().get_mut(&self.call) {
            known.open.retain(|number| !decided.contains(number));
        }
    }
}

impl Drop for OccurrenceTicket {
    fn drop(&mut self) {
        if !self.is_over() {
            self.numbers.lock().entry(self.call).or_default().open.insert(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever becomes of the calls before: each takes the next number, and the open ones are those that ended without a
        /// result.
        #[test]
        fn numbers_follow_the_order_of_the_calls(steps in proptest::collection::vec((0_usize..8, 0..3), 0..200)) {
            let occurrences = Occurrences::default();
            let (mut out, mut open) = (Vec::new(), BTreeSet::new());
            let mut taken = 0;
            for (at, step) in steps {
                if step == 0 || out.is_empty() {
                    let ticket = occurrences.take("", "monday", "pay");
                    prop_assert_eq!(ticket.number, taken);
                    prop_assert_eq!(ticket.open_before(), open.iter().copied().collect::<Vec<_>>());
                    out.push(ticket);
                    taken += 1;
                } else {
                    let ticket: OccurrenceTicket = out.swap_remove(at % out.len());
                    match step {
                        1 => ticket.end(),
                        _ => _ = open.insert(ticket.number),
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_effect_is_known_by_its_providers() {
        let provider = |name: &str, what: &str| (name.to_owned(), what.to_owned());
        let occurrences = Occurrences::default();
        let take = || occurrences.take("", "monday", "pay");
        let first = take();
        assert_eq!(first.made_otherwise(&[provider("a", "1"), provider("b", "1")]), None);
        assert_eq!(take().made_otherwise(&[provider("a", "2")]), None, "nothing is over");
        first.end();
        assert_eq!(
            take().made_otherwise(&[provider("a", "1"), provider("c", "1")]),
            None,
            "one went, one came"
        );
        assert_eq!(take().made_otherwise(&[provider("a", "1"), provider("b", "2")]), Some(0));
        let other = take();
        assert_eq!(other.made_otherwise(&[provider("a", "2")]), Some(0));
        other.end();
        assert_eq!(take().made_otherwise(&[provider("a", "2")]), None);
    }

    #[test]
    fn a_number_that_was_used_for_the_same_call_is_not_taken_again() {
        let occurrences = Occurrences::default();
        let first = occurrences.take("", "monday", "pay");
        first.skip_to(3);
        assert_eq!(occurrences.take("", "monday", "pay").number, 4);
        first.skip_to(1);
        assert_eq!(occurrences.take("", "monday", "pay").number, 5);
    }

    #[test]
    fn a_ticket_from_before_a_restart_opens_nothing() {
        let occurrences = Occurrences::default();
        let before = occurrences.take("", "monday", "pay");
        occurrences.restart("", "monday");
        let first = occurrences.take("", "monday", "pay");
        drop(before);
        let second = occurrences.take("", "monday", "pay");
        assert_eq!((first.number, second.number, second.open_before()), (0, 1, vec![]));
    }
}
