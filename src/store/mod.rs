//! What a hub keeps over restarts, in an SQLite file that several processes may share.
//!
//! ```text
//! open ─► what was known (numbers, uses, pins)          lists and results are read when they are asked for
//! calls, lists, uses, results, pins ─► Batch ─► thread ─► one transaction, at most once a second
//! ```
//!
//! Nobody who calls a tool waits for the file: changes are put into memory, and one thread writes them. What is written are
//! changes, not states, so that several processes add up. A file that is damaged or of a later version is renamed and a new
//! one begun. Secrets never come here: no headers, no environment, no tokens.

mod batch;
mod candidates;
mod file;
pub mod fork;
mod lists;
mod pins;
mod rescue;
mod results;
mod schema;
mod shared;
mod time;
mod uses;
mod writer;

pub use lists::{ListKey, StoredList};
pub use pins::{Definition, PinChange, StoredPin};
pub use uses::Use;

use crate::stats::{Key, Ledger, Record};
use file::{File, Opened};
use parking_lot::Mutex;
use results::KeptResult;
use rusqlite::Connection;
use shared::Shared;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

pub struct Store {
    shared: Arc<Shared>,
    ledger: Arc<Ledger>,
    uses: Mutex<Vec<Use>>,
    pins: Mutex<Vec<StoredPin>>,
    /// A store belongs to one process; its copy in the child of a fork does nothing.
    process: u32,
}

/// What is read when a file is opened.
pub struct Memory {
    stats: Vec<(Key, Record)>,
    uses: Vec<Use>,
    pins: Vec<StoredPin>,
}

impl Memory {
    fn load(connection: &Connection) -> rusqlite::Result<Memory> {
        Ok(Memory {
            stats: candidates::load(connection)?,
            uses: uses::load(connection)?,
            pins: pins::load(connection)?,
        })
    }
}

impl Store {
    /// Opens or makes the file; `room` bytes of it are for results. The sentences are to be told to the user; without a
    /// store, everything stays in memory.
    pub fn open(path: &Path, room: u64) -> (Option<Arc<Store>>, Vec<String>) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (file, memory, notice) = match Store::files(&path) {
            Ok(Opened { file, memory, notice }) => (Some(file), memory, notice),
            Err(why) => match read_only(&path) {
                Some(Opened { file, memory, notice: unread }) => {
                    let unread = unread.map(|unread| format!(" {unread}")).unwrap_or_default();
                    let notice = format!(
                        "The store '{}' cannot be written ({why}); what it has is used{unread}, and what is learnt stays in \
                         memory.",
                        path.display()
                    );
                    return (Store::start(path, room, file, memory, false), vec![notice]);
                }
                None => return (None, vec![in_memory(&path, &why)]),
            },
        };
        let store = file.and_then(|file| Store::start(path.clone(), room, file, memory, true));
        let failed = store.is_none().then(|| in_memory(&path, "its thread cannot be started"));
        (store, notice.into_iter().chain(failed).collect())
    }

    fn files(path: &Path) -> Result<Opened, String> {
        file::check_process()?;
        let _gate = fork::pass();
        File::open(path)
    }

    fn start(path: PathBuf, room: u64, file: File, memory: Memory, writes: bool) -> Option<Arc<Store>> {
        let shared = Shared::new(path, room, file, writes);
        let bell: Weak<Shared> = Arc::downgrade(&shared);
        let ring = move || bell.upgrade().into_iter().for_each(|shared| shared.ring());
        let ledger = Ledger::new(memory.stats, Box::new(ring));
        if !writes {
            ledger.close();
        }
        // A new one: nothing can be set already.
        let _ = shared.ledger.set(ledger.clone());
        {
            let _gate = fork::pass();
            fork::enter(&shared);
        }
        if writes {
            writer::start(shared.clone()).ok()?;
        }
        Some(Arc::new(Store {
            shared,
            ledger,
            uses: Mutex::new(memory.uses),
            pins: Mutex::new(memory.pins),
            process: std::process::id(),
        }))
    }

    /// Where candidates get their numbers from, and tell of new ones.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// What was used for which queries, as it was when the file was opened. Once.
    pub fn take_uses(&self) -> Vec<Use> {
        std::mem::take(&mut *self.uses.lock())
    }

    /// The pins, as they were when the file was opened. Once.
    pub fn take_pins(&self) -> Vec<StoredPin> {
        std::mem::take(&mut *self.pins.lock())
    }

    /// The pin of a tool, as it is now: another process may have accepted it.
    pub fn pin(&self, server: &str, tool: &str) -> Option<StoredPin> {
        self.shared.with_file(|file| pins::one(&file.connection, server, tool)).ok().flatten()
    }

    pub fn list(&self, key: &ListKey) -> Option<StoredList> {
        if let Some(list) = self.shared.pending.lock().lists.get(key) {
            return Some(list.clone());
        }
        self.shared.with_file(|file| lists::load(&file.connection, key)).ok().flatten()
    }

    pub fn save_list(&self, key: ListKey, list: StoredList) {
        self.shared.put(|batch| drop(batch.lists.insert(key, list)));
    }

    pub fn save_uses(&self, uses: Vec<Use>) {
        if !uses.is_empty() {
            self.shared.put(|batch| batch.uses.extend(uses));
        }
    }

    pub fn change_pin(&self, server: Arc<str>, tool: Arc<str>, change: PinChange) {
        self.shared.put(|batch| batch.pins.push((server, tool, change)));
    }

    /// Whether results are kept in the file at all.
    pub fn keeps_results(&self) -> bool {
        self.shared.writes && self.shared.room > 0
    }

    /// One that is larger than all the room is not kept.
    pub fn keep(&self, handle: &str, text: String) {
        let room = self.shared.room;
        if text.len() as u64 <= room {
            let result = KeptResult { handle: handle.to_owned(), text };
            self.shared.put(|batch| batch.keep(result, room));
        }
    }

    pub fn kept(&self, handle: &str) -> Option<String> {
        let waiting = {
            let pending = self.shared.pending.lock();
            pending.results.iter().find(|one| one.handle == handle).map(|one| one.text.clone())
        };
        waiting
            .or_else(|| self.shared.with_file(|file| results::load(&file.connection, handle)).ok().flatten())
    }

    /// Has everything written now. False when that failed or took too long, or the file cannot be written at all.
    pub fn flush(&self, patience: Duration) -> bool {
        self.shared.writes && self.shared.flush(patience)
    }

    /// What has gone wrong since the last time somebody asked.
    pub fn notices(&self) -> Vec<String> {
        self.shared.take_notices()
    }

    /// Writes what waits and closes the file. False when that took too long.
    pub fn close(&self, patience: Duration) -> bool {
        if !self.shared.writes {
            // There is no thread that does it.
            self.shared.end();
        }
        self.shared.stop();
        self.shared.wait_for_end(patience)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.stop();
        }
    }
}

fn read_only(path: &Path) -> Option<Opened> {
    file::check_process().ok()?;
    let _gate = fork::pass();
    File::read_only(path)
}

fn in_memory(path: &Path, why: &str) -> String {
    format!("The store '{}' cannot be used ({why}); what is learnt stays in memory.", path.display())
}

/// When the process ends: all stores write what waits, those that nobody holds any more too.
pub fn close_all(patience: Duration) {
    let end = Instant::now() + patience;
    let all = fork::everybody();
    all.iter().for_each(|shared| shared.stop());
    for shared in all.iter().filter(|shared| shared.writes) {
        shared.wait_for_end(end.saturating_duration_since(Instant::now()));
    }
}
