//! The ledger: proof of what calls have done, in the file of the store.
//!
//! ```text
//! attempt ─► begin ─► queue ─► one commit for all that wait ─► the tool runs ─► finish ─► queue ─► …
//! run ─► recall: new, over (its result is given again), unknown (somebody has to decide)
//! ```
//!
//! Every attempt that may have effects is a row, committed before anything is sent. A process that is killed leaves rows
//! that are `started`; others see by its lock that it is gone, and call them `unknown`. Without a file the same tables are in
//! memory.

mod approvals;
mod occurrences;
mod owner;
mod rows;
mod runs;
mod tidying;

pub(crate) use owner::OwnerLock;
pub(crate) use tidying::Tidying;

pub use crate::file::FileProblem;
pub use approvals::{ApprovalAnswer, ApprovalQuestion};
pub use occurrences::OccurrenceTicket;
pub use owner::fork_locks::close_in_child;
pub use owner::{new_id, new_row_id};
pub use rows::{EffectEnd, EffectState, LateDigests, LedgerFilter, NewEffect};
pub use runs::{CallsBefore, RowDecision, RunCall, RunClaim, RunMemory};

use crate::Store;
use crate::file::{OpenFile, PATIENCE};
use crate::writer::{OpenTables, StoreTask, StoreWriter, TaskKind, TaskTerms};
use occurrences::Occurrences;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use toolhub_text::message::Message;

/// Called with what the ledger answers.
pub type LedgerDone<T> = Box<dyn FnOnce(Result<T, FileProblem>) + Send>;

pub struct Ledger {
    writer: Arc<StoreWriter>,
    /// What else is written with it, and closes it.
    store: Option<Arc<Store>>,
    occurrences: Occurrences,
}

impl Ledger {
    /// A ledger in a file, or in memory.
    pub fn new(path: Option<PathBuf>) -> Arc<Self> {
        let writer = StoreWriter::new(path, OpenFile::default());
        Arc::new(Ledger { writer, store: None, occurrences: Occurrences::default() })
    }

    /// The ledger in the file of an open store.
    pub fn of(store: Arc<Store>) -> Arc<Self> {
        let (writer, store) = (store.writer.clone(), Some(store));
        Arc::new(Ledger { writer, store, occurrences: Occurrences::default() })
    }

    /// The file that other processes find the rows in.
    pub fn path(&self) -> Option<&Path> {
        self.writer.path.as_deref()
    }

    /// Whether what is to be written waits for another process that has locked the file.
    pub fn is_locked(&self) -> bool {
        self.writer.is_locked.load(Ordering::Acquire)
    }

    /// Writes the row of an attempt; `done` is called on another thread when it is committed, or could not be.
    pub fn begin(&self, new: NewEffect, done: LedgerDone<()>) {
        let terms = TaskTerms::new(TaskKind::Now, None).synced(new.run.is_some());
        let begin = move |ledger: &OpenTables<'_>| {
            rows::insert(ledger, &new)?;
            new.run.as_ref().map_or(Ok(()), |run| runs::touch(ledger, &new.principal, run))
        };
        self.ask(terms, begin, done);
    }

    /// Writes how attempts ended, and in a run what their call gave, in one transaction. Nobody waits for it: until it is
    /// written, the rows say that it may have happened. It is tried again with what is written next.
    pub fn finish(&self, ends: Vec<EffectEnd>, call: Option<(String, Option<String>)>) {
        if ends.is_empty() && call.is_none() {
            return;
        }
        let terms = TaskTerms::new(TaskKind::MayBeLate, None).synced(call.is_some());
        let work = move |ledger: &OpenTables<'_>| {
            ends.iter().try_for_each(|ended| rows::end(ledger, ended))?;
            match &call {
                Some((call, Some(result))) => runs::keep(ledger, call, result),
                _ => Ok(()),
            }
        };
        self.ask(terms, work, Box::new(drop));
    }

    /// The number of a call among equal ones of its run.
    pub fn occurrence(&self, principal: &str, run: &str, key: &str) -> OccurrenceTicket {
        self.occurrences.take(principal, run, key)
    }

    /// What the run knows of this call, and of those before it. A locked file is waited for until `end`.
    pub fn recall(
        &self,
        wanted: RunCall,
        before: CallsBefore,
        end: Option<Instant>,
        done: LedgerDone<RunMemory>,
    ) {
        let call = new_row_id();
        let recall = move |ledger: &OpenTables<'_>| runs::recall(ledger, (&wanted, &before), &call);
        self.ask(TaskTerms::new(TaskKind::Now, end), recall, done);
    }

    /// Keeps what the program was told of a call that the run has no result of. Nobody waits for it.
    pub fn tell(&self, told: RunCall, answer: String) {
        let call = new_row_id();
        let tell = move |ledger: &OpenTables<'_>| runs::tell(ledger, (&told, &answer), &call);
        self.ask(TaskTerms::new(TaskKind::MayBeLate, None), tell, Box::new(drop));
    }

    /// Takes a run that was begun, and counts its calls from the beginning.
    pub fn resume(&self, principal: String, run: String, done: LedgerDone<RunClaim>) {
        self.occurrences.restart(&principal, &run);
        let claim = move |ledger: &OpenTables<'_>| runs::claim(ledger, (&principal, &run), true);
        self.ask(TaskTerms::new(TaskKind::Now, None), claim, done);
    }

    /// Lets other processes have the run.
    pub fn release(&self, principal: String, run: String, done: LedgerDone<()>) {
        self.occurrences.restart(&principal, &run);
        let release = move |ledger: &OpenTables<'_>| runs::release(ledger, &principal, &run);
        self.ask(TaskTerms::new(TaskKind::Now, None), release, done);
    }

    /// The rows as they are shown.
    pub fn rows(&self, filter: LedgerFilter, done: LedgerDone<Vec<Value>>) {
        let list = move |ledger: &OpenTables<'_>| {
            rows::mark_orphans_unknown(ledger)?;
            rows::list(ledger, &filter)
        };
        self.ask(TaskTerms::new(TaskKind::OnlyReads, None), list, done);
    }

    /// Decides about a row. False if there is none that can be decided about.
    pub fn settle(
        &self,
        id: String,
        principal: Option<String>,
        (decision, value): (RowDecision, Value),
        done: LedgerDone<bool>,
    ) {
        let settle = move |ledger: &OpenTables<'_>| {
            runs::settle(ledger, (&id, principal.as_deref()), (decision, &value))
        };
        self.ask(TaskTerms::new(TaskKind::Now, None).synced(true), settle, done);
    }

    /// Uses an approval up, or asks for one. A locked file is waited for until `end`.
    pub fn ask_approval(
        &self,
        question: ApprovalQuestion,
        end: Option<Instant>,
        done: LedgerDone<ApprovalAnswer>,
    ) {
        let ask = move |ledger: &OpenTables<'_>| approvals::ask(ledger, &question);
        self.ask(TaskTerms::new(TaskKind::Now, end).synced(true), ask, done);
    }

    /// The questions that wait, as they are shown.
    pub fn pending(&self, principal: Option<String>, done: LedgerDone<Vec<Value>>) {
        let pending = move |ledger: &OpenTables<'_>| approvals::pending(ledger, principal.as_deref());
        self.ask(TaskTerms::new(TaskKind::OnlyReads, None), pending, done);
    }

    /// Answers a question, or says why it cannot be answered.
    pub fn decide(
        &self,
        id: String,
        principal: Option<String>,
        (approves, reason): (bool, Option<String>),
        done: LedgerDone<Result<(), Message>>,
    ) {
        let decide = move |ledger: &OpenTables<'_>| {
            approvals::decide(ledger, (&id, principal.as_deref()), approves, reason.as_deref())
        };
        self.ask(TaskTerms::new(TaskKind::Now, None).synced(true), decide, done);
    }

    /// Writes what is queued, and closes the file, unless a store does. False if that took too long.
    pub fn close(&self, patience: Duration) -> bool {
        if self.store.is_some() {
            return true;
        }
        self.writer.stop(None, patience);
        self.writer.wait_for_end(patience)
    }

    fn ask<T: Send + 'static>(
        &self,
        terms: TaskTerms,
        work: impl FnMut(&OpenTables<'_>) -> rusqlite::Result<T> + Send + 'static,
        done: LedgerDone<T>,
    ) {
        self.writer.put(StoreTask::new(terms, work, done));
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if self.store.is_none() {
            self.writer.stop(None, PATIENCE);
        }
    }
}
