//! What a store is to write: changes are gathered in memory, and the writer takes them from there.

use super::file::FileProblem;
use super::identity::{self, StoreIdentity};
use super::tables::{self, KeptResult, ListKey, MAX_USES, PinChange, StoredList, Use};
use super::writer::{OpenTables, StoreTask, TaskKind, TaskTerms};
use super::{Store, candidates};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use toolhub_types::stats::{Record, StatsKey};

/// Changes are gathered for this long before they are written: what a killed process can lose.
const GATHER: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to write a file that cannot be written.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a store has to write.
pub struct Unwritten {
    pub changes: PendingChanges,
    /// Those that wait until everything is written hear whether it was.
    flushes: Vec<SyncSender<bool>>,
    /// How long changes are gathered for: longer after each write that failed.
    pause: Duration,
    /// The file is gone or bad: nothing is read or written any more.
    pub is_lost: bool,
}

impl Default for Unwritten {
    fn default() -> Self {
        let (changes, flushes) = (PendingChanges::default(), Vec::new());
        Unwritten { changes, flushes, pause: GATHER, is_lost: false }
    }
}

impl Store {
    pub(super) fn put(&self, change: impl FnOnce(&mut PendingChanges)) {
        let mut unwritten = self.unwritten.lock();
        if !unwritten.is_lost && self.writer.refusal().is_none() {
            change(&mut unwritten.changes);
            drop(unwritten);
            self.wake_writer();
        }
    }

    /// There is something to write.
    pub(super) fn wake_writer(&self) {
        let pause = self.unwritten.lock().pause;
        self.write_after(pause);
    }

    /// False if nothing is written any more.
    fn write_after(&self, pause: Duration) -> bool {
        self.own.upgrade().is_some_and(|store| self.writer.write_after(pause, store))
    }

    /// Writes everything now. False if that failed or took too long.
    pub fn flush(&self, patience: Duration) -> bool {
        let written = {
            let (written, is_written) = sync_channel(1);
            let mut unwritten = self.unwritten.lock();
            if unwritten.is_lost {
                return false;
            }
            unwritten.flushes.push(written);
            is_written
        };
        match self.write_after(Duration::ZERO) {
            true => written.recv_timeout(patience).unwrap_or(false),
            false => self.unwritten.lock().pause == GATHER,
        }
    }

    /// What is pending, to be written; `ends` if for the last time.
    pub(super) fn write(self: Arc<Self>, ends: bool) -> Option<StoreTask> {
        let mut unwritten = self.unwritten.lock();
        if unwritten.is_lost {
            unwritten.flushes.clear();
            return None;
        }
        let mut changes = std::mem::take(&mut unwritten.changes);
        changes.learn(self.stats.take());
        if ends {
            self.stats.close();
        }
        let flushes = std::mem::take(&mut unwritten.flushes);
        drop(unwritten);
        // A checkpoint takes the disk milliseconds: on request, not every second.
        let checkpoints = ends || !flushes.is_empty();
        // A folder that was deleted with everything in it needs no warning at the end.
        let folder_is_gone = || self.path.parent().is_some_and(|folder| !folder.exists());
        if changes.is_empty() && (!checkpoints || ends && folder_is_gone()) {
            return None;
        }
        // A pin has to survive a power cut.
        let terms = TaskTerms::new(TaskKind::Changes, None).synced(!changes.pins.is_empty());
        let changes = Arc::new(Mutex::new(changes));
        let (limit, written) = (self.results_limit, changes.clone());
        let write = move |tables: &OpenTables<'_>| written.lock().write(tables, limit);
        let done = move |written| {
            let is_written = self.written(written, std::mem::take(&mut *changes.lock()));
            if is_written && checkpoints {
                self.writer.checkpoint();
            }
            let (store, lost) = (self.path.display(), self.unwritten.lock().changes.count());
            if ends && lost > 0 {
                self.report(format!("The store '{store}' was closed; {lost} changes in memory are lost."));
            }
            flushes.into_iter().for_each(|flush| _ = flush.send(is_written));
        };
        Some(StoreTask::new(terms, write, done))
    }

    /// What could not be written stays pending, with one notice until it works again.
    fn written(&self, written: Result<WrittenChanges, FileProblem>, changes: PendingChanges) -> bool {
        let problem = match written {
            Ok(written) => {
                if let Some(Err(why)) = written.counted.map(|counted| identity::note(&self.path, &counted)) {
                    self.report(format!("{why}. If the store is lost, that is not noticed."));
                }
                written.stats.into_iter().for_each(|(key, record)| self.stats.saved(key, record));
                for handle in &written.refused_results {
                    self.report(format!(
                        "The store has another result with the handle '{handle}'; the new one is not stored."
                    ));
                }
                self.unwritten.lock().pause = GATHER;
                return true;
            }
            Err(problem) => problem,
        };
        let is_first = {
            let mut unwritten = self.unwritten.lock();
            let later = std::mem::replace(&mut unwritten.changes, changes);
            unwritten.changes.append(later, self.results_limit);
            let pause = (unwritten.pause * 2).min(LONGEST_PAUSE);
            std::mem::replace(&mut unwritten.pause, pause) == GATHER
        };
        if !self.lost(&problem) {
            if is_first {
                let (store, why) = (self.path.display(), problem.why());
                self.report(format!(
                    "The store '{store}' cannot be written ({why}); changes wait in memory."
                ));
            }
            self.wake_writer();
        }
        false
    }

    /// Whether the file is gone or bad. Then the store goes on in memory, and says so once; otherwise it may work later.
    pub(super) fn lost(&self, problem: &FileProblem) -> bool {
        let why = match problem {
            FileProblem::Bad(why) => format!("cannot be used: {why}"),
            FileProblem::Gone => "was removed or replaced while it was in use".to_owned(),
            _ => return false,
        };
        if !std::mem::replace(&mut self.unwritten.lock().is_lost, true) {
            self.report(format!("The store '{}' {why}; this hub continues in memory.", self.path.display()));
            self.stats.close();
        }
        true
    }
}

#[derive(Default)]
pub struct PendingChanges {
    pub stats: HashMap<StatsKey, Record>,
    pub lists: HashMap<ListKey, StoredList>,
    pub uses: Vec<Use>,
    pub results: Vec<KeptResult>,
    pub pins: Vec<(Arc<str>, Arc<str>, PinChange)>,
}

/// The result of writing a batch.
pub struct WrittenChanges {
    /// The statistics as the file has them now, with the calls of other processes.
    pub stats: Vec<(StatsKey, Record)>,
    /// Handles that another result has already.
    pub refused_results: Vec<String>,
    /// The store with the pins, to be noted.
    pub counted: Option<StoreIdentity>,
}

impl PendingChanges {
    pub fn is_empty(&self) -> bool {
        self.stats.is_empty() && self.count() == 0
    }

    /// The number of changes. In the statistics, each call is one.
    fn count(&self) -> u64 {
        let calls: u64 = self.stats.values().map(|record| record.calls).sum();
        calls + (self.lists.len() + self.uses.len() + self.results.len() + self.pins.len()) as u64
    }

    pub fn learn(&mut self, learnt: Vec<(StatsKey, Record)>) {
        for (key, delta) in learnt {
            self.stats.entry(key).or_default().then(&delta);
        }
    }

    /// Adds a result, and drops the oldest pending ones while all together exceed `limit` bytes.
    pub fn keep(&mut self, result: KeptResult, limit: u64) {
        self.results.push(result);
        let mut bytes: u64 = self.results.iter().map(|one| one.text.len() as u64).sum();
        let surplus = self.results.iter().take_while(|oldest| {
            let too_much = bytes > limit;
            bytes -= if too_much { oldest.text.len() as u64 } else { 0 };
            too_much
        });
        let surplus = surplus.count();
        self.results.drain(..surplus);
    }

    /// Adds later changes to those that could not be written.
    pub fn append(&mut self, later: PendingChanges, limit: u64) {
        self.learn(later.stats.into_iter().collect());
        self.lists.extend(later.lists);
        self.uses.extend(later.uses);
        let surplus = self.uses.len().saturating_sub(MAX_USES);
        self.uses.drain(..surplus);
        later.results.into_iter().for_each(|result| self.keep(result, limit));
        self.pins.extend(later.pins);
    }

    /// Writes everything or nothing.
    pub fn write(&self, tables: &OpenTables<'_>, limit: u64) -> rusqlite::Result<WrittenChanges> {
        let counted = match tables.path {
            Some(store) if !self.pins.is_empty() => identity::count(store, tables)?,
            _ => None,
        };
        let stats = candidates::save(tables, &self.stats)?;
        tables::save_lists(tables, &self.lists)?;
        tables::save_uses(tables, &self.uses)?;
        let refused_results = tables::save_results(tables, &self.results, limit)?;
        tables::save_pins(tables, &self.pins)?;
        Ok(WrittenChanges { stats, refused_results, counted })
    }
}
