//! What a hub keeps across restarts, in an SQLite file that several processes may share.
//!
//! ```text
//! open ─► the known state (statistics, uses, pins)        lists and results are read on demand
//! calls, lists, uses, results, pins ─► PendingChanges ─┐ at most once a second
//! ledger ──────────────────────────────────────────────┴─► StoreWriter ─► one transaction for all that wait
//! ```
//!
//! No call waits for these changes: they go into memory, and one thread writes them. It writes changes, not totals, so the
//! calls of several processes add up.
//!
//! If the file is bad, or removed or replaced while in use, the store reports that once and goes on in memory; a person has to
//! look. Secrets are never stored: no headers,
//! no environment, no tokens; what is bound to such values has a keyed digest.

pub mod cassette;

mod candidates;
mod changes;
mod file;
pub mod fork;
mod identity;
pub mod ledger;
mod schema;
mod tables;
mod time;
mod writer;

pub use identity::accept;
pub use tables::{Definition, ListKey, PinChange, StoredList, StoredPin, Use};

use changes::Unwritten;
pub use file::real_place;
use file::{OpenFile, PATIENCE, StoredState};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use tables::KeptResult;
use toolhub_types::stats::StatsSink;
use writer::StoreWriter;

/// How long the first use of a pinned server waits until its pins are written.
const PINS_PATIENCE: Duration = Duration::from_secs(2);

pub struct Store {
    /// Where the file is.
    pub path: PathBuf,
    /// The number of bytes of results that the file keeps.
    results_limit: u64,
    writer: Arc<StoreWriter>,
    unwritten: Mutex<Unwritten>,
    /// The sink that candidates get their statistics from and report new calls to.
    pub stats: Arc<StatsSink>,
    /// Problems that have not been reported yet.
    notices: Mutex<Vec<String>>,
    on_notice: OnceLock<Box<dyn Fn() + Send + Sync>>,
    uses: Mutex<Vec<Use>>,
    pins: Mutex<Vec<StoredPin>>,
    /// It is not the store that was here before.
    is_doubted: bool,
    own: Weak<Store>,
}

impl Store {
    /// Opens or creates the file, which keeps `results_limit` bytes of results. Returns notices for the user; without a
    /// store, everything stays in memory.
    pub fn open(path: &Path, results_limit: u64) -> (Option<Arc<Store>>, Vec<String>) {
        let path = real_place(path);
        let (connection, (stats, uses, pins)) = match open_file(&path) {
            Ok(opened) => opened,
            Err(why) => return (None, vec![in_memory(&path, &why)]),
        };
        // What cannot be asked is in doubt.
        let is_doubted = identity::is_doubted(&path, &connection).unwrap_or(true);
        let doubt = is_doubted.then(|| {
            let (store, doubt) = (path.display(), identity::doubt(&path));
            format!("Runs, approvals and new pins are refused in the store '{store}': {doubt}.")
        });
        let writer = StoreWriter::new(Some(path.clone()), OpenFile::new(&path, connection));
        if let Some(why) = writer.refusal() {
            return (None, vec![in_memory(&path, why)]);
        }
        let store = Arc::new_cyclic(|own: &Weak<Store>| {
            let woken = own.clone();
            let wake = move || woken.upgrade().into_iter().for_each(|store| store.wake_writer());
            Store {
                path,
                writer,
                results_limit,
                unwritten: Mutex::default(),
                stats: StatsSink::new(stats, Box::new(wake)),
                notices: Mutex::default(),
                on_notice: OnceLock::new(),
                uses: Mutex::new(uses),
                pins: Mutex::new(pins),
                is_doubted,
                own: own.clone(),
            }
        });
        (Some(store), doubt.into_iter().collect())
    }

    /// Which tools were used for which queries, as read when the file was opened. Empty after the first call.
    pub fn take_uses(&self) -> Vec<Use> {
        std::mem::take(&mut *self.uses.lock())
    }

    /// The pins, as read when the file was opened. Empty after the first call.
    pub fn take_pins(&self) -> Vec<StoredPin> {
        std::mem::take(&mut *self.pins.lock())
    }

    /// True if pins may be missing that were there before. Then a tool without a pin must not be accepted at first sight.
    pub fn pins_are_lost(&self) -> bool {
        self.is_doubted
    }

    /// Waits until new pins are written: from now on their loss is noticed, also if this process is killed. A pin must not count
    /// before.
    pub fn secure_pins(&self) {
        if self.writer.refusal().is_none() {
            self.flush(PINS_PATIENCE);
        }
    }

    /// The current pin of a tool: another process may have accepted it.
    pub fn pin(&self, server: &str, tool: &str) -> Option<StoredPin> {
        self.look(false, |file| tables::stored_pin(file, server, tool))
    }

    pub fn list(&self, key: &ListKey) -> Option<StoredList> {
        if let Some(list) = self.unwritten.lock().changes.lists.get(key) {
            return Some(list.clone());
        }
        self.look(false, |file| tables::list(file, key))
    }

    pub fn save_list(&self, key: ListKey, list: StoredList) {
        self.put(|batch| drop(batch.lists.insert(key, list)));
    }

    pub fn save_uses(&self, uses: Vec<Use>) {
        if !uses.is_empty() {
            self.put(|batch| batch.uses.extend(uses));
        }
    }

    pub fn change_pin(&self, server: Arc<str>, tool: Arc<str>, change: PinChange) {
        self.put(|batch| batch.pins.push((server, tool, change)));
    }

    /// Whether the file keeps results at all.
    pub fn keeps_results(&self) -> bool {
        self.results_limit > 0
    }

    /// Keeps a result under its handle. One that is larger than the limit is not stored.
    pub fn keep(&self, handle: &str, text: String) {
        let limit = self.results_limit;
        if text.len() as u64 <= limit {
            let result = KeptResult { handle: handle.to_owned(), text };
            self.put(|batch| batch.keep(result, limit));
        }
    }

    pub fn result(&self, handle: &str) -> Option<String> {
        let pending = {
            let changes = &self.unwritten.lock().changes;
            changes.results.iter().find(|one| one.handle == handle).map(|one| one.text.clone())
        };
        pending.or_else(|| self.look(true, |file| tables::result(file, handle)))
    }

    /// Reads from the file, as [`StoreWriter::look`] does. `None` if that fails.
    fn look<T>(
        &self,
        at_once: bool,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<T> {
        if self.unwritten.lock().is_lost {
            return None;
        }
        let found = self.writer.look(&self.path, at_once, read);
        found.inspect_err(|problem| _ = self.lost(problem)).ok().flatten()
    }

    /// The problems since the last call.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock())
    }

    fn report(&self, notice: String) {
        self.notices.lock().push(notice);
        self.on_notice.get().into_iter().for_each(|wake| wake());
    }

    /// Calls `wake` after each new notice, from any thread. Only the first function counts.
    pub fn on_notice(&self, wake: Box<dyn Fn() + Send + Sync>) {
        let _ = self.on_notice.set(wake);
    }

    /// Writes what is pending and closes the file. False if that took too long.
    pub fn close(&self, patience: Duration) -> bool {
        self.writer.stop(self.own.upgrade(), patience);
        self.writer.wait_for_end(patience)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.writer.stop(None, PATIENCE);
    }
}

fn open_file(path: &Path) -> Result<(Connection, StoredState), String> {
    fork::check_process()?;
    let _gate = fork::pass();
    file::prepare(path, PATIENCE).map_err(|problem| problem.why().into_owned())
}

fn in_memory(path: &Path, why: &str) -> String {
    format!(
        "The store '{}' cannot be used ({why}); everything stays in memory, and tools of servers with `pin` are refused until \
         hub.pins.accept() accepts them.",
        path.display()
    )
}

/// At the end of the process: all stores write what is pending, including those without an owner.
pub fn close_all(patience: Duration) {
    let end = Instant::now() + patience;
    let writers = fork::all_writers();
    writers.iter().for_each(|writer| writer.stop(None, patience));
    for writer in &writers {
        writer.wait_for_end(end.saturating_duration_since(Instant::now()));
    }
}
