//! What a hub keeps across restarts, in an SQLite file that several processes may share.
//!
//! ```text
//! open ─► the known state (statistics, uses, pins)        lists and results are read on demand
//! calls, lists, uses, results, pins ─► PendingChanges ─► thread ─► one transaction, at most once a second
//! ```
//!
//! No call waits for the file: changes go into memory, and one thread writes them. It writes changes, not totals, so the
//! calls of several processes add up.
//!
//! If the file is bad, or removed or replaced while in use, the store reports that once and goes on in memory; a person has to
//! look. Secrets are never stored: no headers,
//! no environment, no tokens; what is bound to such values has a keyed digest.

pub mod tape;

mod candidates;
mod file;
pub mod fork;
mod identity;
pub mod ledger;
mod schema;
mod shared;
mod tables;
mod time;

pub use identity::accept;
pub use tables::{Definition, ListKey, PinChange, StoredList, StoredPin, Use};

pub use file::real_place;
use file::{FileSlot, PATIENCE, StoredState};
use fork::OpenStore;
use parking_lot::Mutex;
use rusqlite::Connection;
use shared::SharedStore;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tables::KeptResult;

/// How long the first use of a pinned server waits until its pins are written.
const PINS_PATIENCE: Duration = Duration::from_secs(2);

pub struct Store {
    shared: Arc<SharedStore>,
    uses: Mutex<Vec<Use>>,
    pins: Mutex<Vec<StoredPin>>,
    /// It is not the store that was here before.
    is_doubted: bool,
    /// A store belongs to one process; its copy in a forked child does nothing.
    process: u32,
}

impl Deref for Store {
    type Target = SharedStore;

    fn deref(&self) -> &SharedStore {
        &self.shared
    }
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
        let slot = FileSlot::new(&path, connection);
        let shared = SharedStore::new(path.clone(), results_limit, slot, stats);
        let open: Weak<SharedStore> = Arc::downgrade(&shared);
        fork::register(open);
        let written = shared.clone();
        if start_writer("toolhub-store", move || written.run_writer()).is_err() {
            return (None, vec![in_memory(&path, "its thread cannot be started")]);
        }
        let store = Arc::new(Store {
            shared,
            uses: Mutex::new(uses),
            pins: Mutex::new(pins),
            is_doubted,
            process: std::process::id(),
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
        if self.process == std::process::id() {
            self.flush(PINS_PATIENCE);
        }
    }

    /// The current pin of a tool: another process may have accepted it.
    pub fn pin(&self, server: &str, tool: &str) -> Option<StoredPin> {
        self.with_file(|file| tables::stored_pin(file, server, tool)).flatten()
    }

    pub fn list(&self, key: &ListKey) -> Option<StoredList> {
        if let Some(list) = self.pending.lock().lists.get(key) {
            return Some(list.clone());
        }
        self.with_file(|file| tables::list(file, key)).flatten()
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
            let pending = self.pending.lock();
            pending.results.iter().find(|one| one.handle == handle).map(|one| one.text.clone())
        };
        pending.or_else(|| self.read(|connection| tables::result(connection, handle)).flatten())
    }

    /// Writes what is pending and closes the file. False if that took too long.
    pub fn close(&self, patience: Duration) -> bool {
        self.stop();
        self.wait_for_end(patience)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.stop();
        }
    }
}

fn open_file(path: &Path) -> Result<(Connection, StoredState), String> {
    fork::check_process()?;
    let _gate = fork::pass();
    file::prepare(path, PATIENCE).map_err(|problem| problem.why().into_owned())
}

/// Starts a writer thread: a store has one for its changes, and one for its ledger.
fn start_writer(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
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
    let stores = fork::all_stores();
    stores.iter().for_each(|store| store.stop());
    for store in &stores {
        store.wait_for_end(end.saturating_duration_since(Instant::now()));
    }
}
