//! Equal calls of one run are told apart by their number. A call that ran keeps its number; one that was refused, paused or
//! ended unknown gives it back, so that repeating it is the same call and not another one.

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Principal and run.
type RunKey = (String, String);
/// Tool and the digest of the arguments.
type CallKey = (String, String);

#[derive(Default)]
pub struct Occurrences(Mutex<HashMap<RunKey, HashMap<CallKey, BTreeSet<u32>>>>);

impl Occurrences {
    pub fn take(
        this: &Arc<Self>,
        (principal, run): (&str, &str),
        (tool, arguments): (&str, &str),
    ) -> OccurrenceTicket {
        let run = (principal.to_owned(), run.to_owned());
        let call = (tool.to_owned(), arguments.to_owned());
        let mut runs = this.0.lock();
        let taken = runs.entry(run.clone()).or_default().entry(call.clone()).or_default();
        let number = (0..).find(|number| !taken.contains(number)).unwrap_or(u32::MAX);
        taken.insert(number);
        OccurrenceTicket { table: Some(this.clone()), run, call, number }
    }

    /// Counts the calls of a run from the beginning.
    pub fn restart(&self, principal: &str, run: &str) {
        self.0.lock().remove(&(principal.to_owned(), run.to_owned()));
    }
}

/// The number of a call, given back unless it is consumed.
pub struct OccurrenceTicket {
    table: Option<Arc<Occurrences>>,
    run: RunKey,
    call: CallKey,
    pub number: u32,
}

impl OccurrenceTicket {
    /// The call is over: the next equal one is another one.
    pub fn consume(mut self) {
        self.table = None;
    }
}

impl Drop for OccurrenceTicket {
    fn drop(&mut self) {
        if let Some(table) = &self.table
            && let Some(calls) = table.0.lock().get_mut(&self.run)
            && let Some(taken) = calls.get_mut(&self.call)
        {
            taken.remove(&self.number);
        }
    }
}
