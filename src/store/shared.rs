//! What a store and its thread share: the open file, what waits to be written, and who waits for that.

use super::batch::Batch;
use super::file::{File, Opened, Refusal};
use super::fork;
use crate::stats::Ledger;
use parking_lot::{Condvar, Mutex};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Calls and changes are gathered so long before they are written: what a process that is killed can lose.
pub const GATHER: Duration = Duration::from_secs(1);
/// A file that cannot be written is tried again, more and more slowly.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub struct Shared {
    pub path: PathBuf,
    /// Bytes of results that the file keeps.
    pub room: u64,
    /// False for a file on a disk that is read-only.
    pub writes: bool,
    file: Mutex<Option<File>>,
    pub pending: Mutex<Batch>,
    pub ledger: OnceLock<Arc<Ledger>>,
    wake: Mutex<Wake>,
    bell: Condvar,
    /// What has gone wrong and nobody has been told yet.
    notices: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Wake {
    work: bool,
    /// How many have asked for writing at once, and how many of them were served.
    asked: u64,
    served: u64,
    /// Whether the last writing failed.
    failed: bool,
    stop: bool,
    ended: bool,
}

impl Shared {
    pub fn new(path: PathBuf, room: u64, file: File, writes: bool) -> Arc<Self> {
        Arc::new(Shared {
            path,
            room,
            writes,
            file: Mutex::new(Some(file)),
            pending: Mutex::default(),
            ledger: OnceLock::new(),
            wake: Mutex::default(),
            bell: Condvar::new(),
            notices: Mutex::default(),
        })
    }

    /// Works with the file, which is opened again if it was closed, removed or replaced meanwhile.
    pub fn with_file<T>(&self, mut work: impl FnMut(&mut File) -> rusqlite::Result<T>) -> Result<T, String> {
        let _gate = fork::pass();
        let mut slot = self.file.lock();
        if self.wake.lock().ended {
            return Err("it is closed".to_owned());
        }
        // A damaged file is put aside, and the work done with a new one.
        for _ in 0..2 {
            let file = match slot.take() {
                Some(file) if !self.writes || file.is_at(&self.path) => file,
                _ => self.reopen()?,
            };
            let file = slot.insert(file);
            let error = match work(file) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            match (Refusal::of(&error), slot.take()) {
                (Refusal::Bad(_, why), Some(file)) if self.writes => {
                    self.notices.lock().extend(file.condemn(&self.path, &why)?);
                }
                (_, file) => {
                    *slot = file;
                    return Err(error.to_string());
                }
            }
        }
        Err("every new file is damaged too".to_owned())
    }

    fn reopen(&self) -> Result<File, String> {
        if !self.writes {
            let file = File::read_only(&self.path).map(|(file, _)| file);
            return file.ok_or_else(|| "it cannot be read".to_owned());
        }
        let Opened { file, notice, .. } = File::open(&self.path)?;
        self.notices.lock().extend(notice);
        Ok(file)
    }

    /// Closes the file until it is next needed.
    pub fn let_go(&self) {
        *self.file.lock() = None;
    }

    /// What has gone wrong since the last time somebody asked.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock())
    }

    pub fn put(&self, change: impl FnOnce(&mut Batch)) {
        if self.writes && !self.wake.lock().ended {
            change(&mut self.pending.lock());
            self.ring();
        }
    }

    /// There is something to write.
    pub fn ring(&self) {
        let mut wake = self.wake.lock();
        if !std::mem::replace(&mut wake.work, true) {
            self.bell.notify_all();
        }
    }

    /// Has everything written now. False when that failed or took too long.
    pub fn flush(&self, patience: Duration) -> bool {
        let mut wake = self.wake.lock();
        wake.asked += 1;
        let mine = wake.asked;
        self.bell.notify_all();
        let end = Instant::now() + patience;
        while wake.served < mine && !wake.ended {
            if self.bell.wait_until(&mut wake, end).timed_out() {
                return false;
            }
        }
        !wake.failed
    }

    /// The thread writes what waits, and ends.
    pub fn stop(&self) {
        self.wake.lock().stop = true;
        self.bell.notify_all();
    }

    pub fn wait_for_end(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut wake = self.wake.lock();
        while !wake.ended {
            if self.bell.wait_until(&mut wake, end).timed_out() {
                return false;
            }
        }
        true
    }

    /// What the store's thread does, until it is stopped.
    pub fn serve(&self) {
        let mut pause = GATHER;
        loop {
            let (asked, stop) = self.next_turn(pause);
            let failed = self.write_out();
            pause = match &failed {
                Some(_) => (pause * 2).min(LONGEST_PAUSE),
                None => GATHER,
            };
            let mut wake = self.wake.lock();
            wake.served = asked;
            wake.failed = failed.is_some();
            wake.work |= wake.failed;
            if stop {
                break;
            }
            self.bell.notify_all();
        }
        if let Some(ledger) = self.ledger.get() {
            ledger.close();
        }
        {
            let _gate = fork::pass();
            self.let_go();
        }
        self.wake.lock().ended = true;
        self.bell.notify_all();
    }

    /// Waits until there is something to do, and a moment longer for more of it; those who ask are not kept waiting.
    fn next_turn(&self, gather: Duration) -> (u64, bool) {
        let mut wake = self.wake.lock();
        while !wake.work && wake.asked == wake.served && !wake.stop {
            self.bell.wait(&mut wake);
        }
        let end = Instant::now() + gather;
        while wake.asked == wake.served && !wake.stop {
            if self.bell.wait_until(&mut wake, end).timed_out() {
                break;
            }
        }
        wake.work = false;
        (wake.asked, wake.stop)
    }

    /// Writes what waits. What cannot be written waits on; why is told once.
    fn write_out(&self) -> Option<()> {
        let mut batch = std::mem::take(&mut *self.pending.lock());
        let ledger = self.ledger.get()?;
        batch.learn(ledger.take());
        if batch.is_empty() {
            return None;
        }
        match self.with_file(|file| batch.write(file, self.room)) {
            Ok(saved) => {
                saved.into_iter().for_each(|(key, record)| ledger.saved(key, record));
                None
            }
            Err(why) => {
                let mut pending = self.pending.lock();
                let later = std::mem::replace(&mut *pending, batch);
                pending.then(later, self.room);
                let text = format!(
                    "The store '{}' cannot be written ({why}); what is learnt waits in memory.",
                    self.path.display()
                );
                let mut notices = self.notices.lock();
                if !notices.contains(&text) {
                    notices.push(text);
                }
                Some(())
            }
        }
    }
}
