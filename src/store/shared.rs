//! What a store and its writer thread share: the open file, the pending changes, and the threads waiting for a write.

use super::file::{self, FileProblem, FileSlot, PATIENCE, reader};
use super::fork::{self, OpenStore};
use super::identity::{self, StoreIdentity};
use super::tables::{self, KeptResult, ListKey, MAX_USES, PinChange, StoredList, Use};
use super::{candidates, schema};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use toolhub_types::stats::{Record, StatsKey, StatsSink};

/// Changes are gathered for this long before they are written: what a killed process can lose.
pub const GATHER: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to write a file that cannot be written.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub struct SharedStore {
    /// Where the file is.
    pub path: PathBuf,
    /// The number of bytes of results that the file keeps.
    pub results_limit: u64,
    file: Mutex<FileSlot>,
    pub pending: Mutex<PendingChanges>,
    /// The sink that candidates get their statistics from and report new calls to.
    pub stats: Arc<StatsSink>,
    signal: Mutex<WriterSignal>,
    changed: Condvar,
    /// Problems that have not been reported yet.
    notices: Mutex<Vec<String>>,
    on_notice: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct WriterSignal {
    work: bool,
    /// Flushes requested, and flushes done.
    requested: u64,
    done: u64,
    /// Whether the last write failed.
    failed: bool,
    stop: bool,
    /// Nothing is read or written any more.
    ended: bool,
}

impl SharedStore {
    pub fn new(
        path: PathBuf,
        results_limit: u64,
        file: FileSlot,
        known: Vec<(StatsKey, Record)>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<SharedStore>| {
            let me = me.clone();
            let wake = move || me.upgrade().into_iter().for_each(|shared| shared.wake_writer());
            SharedStore {
                path,
                results_limit,
                file: Mutex::new(file),
                pending: Mutex::default(),
                stats: StatsSink::new(known, Box::new(wake)),
                signal: Mutex::default(),
                changed: Condvar::new(),
                notices: Mutex::default(),
                on_notice: OnceLock::new(),
            }
        })
    }

    /// Works with the file, which is reopened if a fork closed it. `None` if that fails.
    pub fn with_file<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Option<T> {
        self.reported(self.work(work))
    }

    fn reported<T>(&self, worked: Result<T, FileProblem>) -> Option<T> {
        worked.inspect_err(|problem| _ = self.lost(problem)).ok()
    }

    /// Whether the file is gone or bad. Then the store goes on in memory; otherwise it may work later.
    fn lost(&self, problem: &FileProblem) -> bool {
        let why = match problem {
            FileProblem::Bad(why) => format!("cannot be used: {why}"),
            FileProblem::Gone => "was removed or replaced while it was in use".to_owned(),
            FileProblem::Unusable(_) | FileProblem::Locked(_) => return false,
        };
        self.give_up(format!("The store '{}' {why}; this hub continues in memory.", self.path.display()));
        true
    }

    /// Reads from the file without waiting. While the writer thread has the file, and perhaps waits for another process, a
    /// connection of its own reads what is there.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let _gate = fork::pass();
        match self.file.try_lock() {
            Some(slot) => self.reported(self.work_with(slot, |file| read(file))),
            None if self.signal.lock().ended => None,
            None => read(&reader(&self.path).ok()?).ok(),
        }
    }

    fn work<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, FileProblem> {
        let _gate = fork::pass();
        self.work_with(self.file.lock(), work)
    }

    fn work_with<T>(
        &self,
        mut slot: MutexGuard<'_, FileSlot>,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, FileProblem> {
        if self.signal.lock().ended {
            return Err(FileProblem::Unusable("it is closed".to_owned()));
        }
        let mut connection = slot.take(&self.path, PATIENCE)?;
        let worked = work(&mut connection).map_err(|error| FileProblem::of(&error));
        slot.open = Some(connection).filter(|_| !matches!(worked, Err(FileProblem::Bad(_))));
        worked
    }

    /// Goes on in memory: reports why, and ends all work with the file.
    fn give_up(&self, notice: String) {
        let is_first = {
            let mut signal = self.signal.lock();
            signal.failed |= !signal.ended;
            !std::mem::replace(&mut signal.ended, true)
        };
        if is_first {
            self.report(notice);
        }
        self.changed.notify_all();
        self.stats.close();
    }

    /// The problems since the last call.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock())
    }

    pub fn report(&self, notice: String) {
        self.notices.lock().push(notice);
        self.on_notice.get().into_iter().for_each(|wake| wake());
    }

    /// Calls `wake` after each new notice, from any thread. Only the first function counts.
    pub fn on_notice(&self, wake: Box<dyn Fn() + Send + Sync>) {
        let _ = self.on_notice.set(wake);
    }

    pub fn put(&self, change: impl FnOnce(&mut PendingChanges)) {
        if !self.signal.lock().ended {
            change(&mut self.pending.lock());
            self.wake_writer();
        }
    }

    /// There is something to write.
    pub fn wake_writer(&self) {
        let mut signal = self.signal.lock();
        if !std::mem::replace(&mut signal.work, true) {
            self.changed.notify_all();
        }
    }

    /// Writes everything now. False if that failed or took too long.
    pub fn flush(&self, patience: Duration) -> bool {
        let mut signal = self.signal.lock();
        signal.requested += 1;
        let mine = signal.requested;
        self.changed.notify_all();
        let waits = |signal: &mut WriterSignal| signal.done < mine && !signal.ended;
        self.changed.wait_while_for(&mut signal, waits, patience);
        if waits(&mut signal) {
            return false;
        }
        !signal.failed
    }

    /// The loop of the writer thread.
    pub fn run_writer(&self) {
        let mut pause = GATHER;
        while let Some((requested, stop, is_awaited)) = self.next_round(pause) {
            // A checkpoint takes the disk milliseconds: on request, not every second.
            let failed = !self.write_out(stop, is_awaited || stop);
            pause = if failed { (pause * 2).min(LONGEST_PAUSE) } else { GATHER };
            let mut signal = self.signal.lock();
            signal.done = requested;
            signal.failed = failed;
            signal.work |= failed;
            if stop {
                break;
            }
            self.changed.notify_all();
        }
        self.end();
    }

    /// Nothing is read or written from now on.
    fn end(&self) {
        self.stats.close();
        {
            let _gate = fork::pass();
            self.close_file();
        }
        self.signal.lock().ended = true;
        self.changed.notify_all();
    }

    /// Waits for something to do, and then for more of it, unless a flush waits: the flushes requested so far, whether it is to
    /// stop, and whether a flush waits. `None` once the store has ended.
    fn next_round(&self, gather: Duration) -> Option<(u64, bool, bool)> {
        let mut signal = self.signal.lock();
        let is_idle =
            |signal: &mut WriterSignal| signal.requested == signal.done && !signal.stop && !signal.ended;
        self.changed.wait_while(&mut signal, |signal| !signal.work && is_idle(signal));
        self.changed.wait_while_for(&mut signal, is_idle, gather);
        signal.work = false;
        let WriterSignal { requested, done, stop, .. } = *signal;
        (!signal.ended).then_some((requested, stop, requested != done))
    }

    /// Writes what is pending. If that fails it stays pending, with one notice until it works again.
    fn write_out(&self, stop: bool, checkpoint: bool) -> bool {
        let mut batch = std::mem::take(&mut *self.pending.lock());
        batch.learn(self.stats.take());
        // A folder that was deleted with everything in it needs no warning at the end.
        let folder_is_gone = || self.path.parent().is_some_and(|folder| !folder.exists());
        if batch.is_empty() && (!checkpoint || stop && folder_is_gone()) {
            return true;
        }
        let written = self.work(|file| {
            let written = batch.write(&self.path, file, self.results_limit)?;
            if checkpoint {
                file::checkpoint(file);
            }
            Ok(written)
        });
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
                return true;
            }
            Err(problem) => problem,
        };
        {
            let mut pending = self.pending.lock();
            let later = std::mem::replace(&mut *pending, batch);
            pending.append(later, self.results_limit);
        }
        if !self.lost(&problem) && !self.signal.lock().failed {
            let (store, why) = (self.path.display(), problem.why());
            self.report(format!("The store '{store}' cannot be written ({why}); changes wait in memory."));
        }
        false
    }
}

impl OpenStore for SharedStore {
    fn close_file(&self) {
        self.file.lock().open = None;
    }

    fn stop(&self) {
        self.signal.lock().stop = true;
        self.changed.notify_all();
    }

    fn wait_for_end(&self, patience: Duration) -> bool {
        let mut signal = self.signal.lock();
        self.changed.wait_while_for(&mut signal, |signal| !signal.ended, patience);
        signal.ended
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
        self.stats.is_empty()
            && self.lists.is_empty()
            && self.uses.is_empty()
            && self.results.is_empty()
            && self.pins.is_empty()
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
    pub fn write(
        &self,
        store: &Path,
        connection: &mut Connection,
        limit: u64,
    ) -> rusqlite::Result<WrittenChanges> {
        // A pin has to survive a power cut.
        let mode = if self.pins.is_empty() { "normal" } else { "full" };
        connection.pragma_update(None, "synchronous", mode)?;
        let work = schema::begin(connection)?;
        let counted = if self.pins.is_empty() { None } else { identity::count(store, &work)? };
        let stats = candidates::save(&work, &self.stats)?;
        tables::save_lists(&work, &self.lists)?;
        tables::save_uses(&work, &self.uses)?;
        let refused_results = tables::save_results(&work, &self.results, limit)?;
        tables::save_pins(&work, &self.pins)?;
        work.commit().map(|()| WrittenChanges { stats, refused_results, counted })
    }
}
