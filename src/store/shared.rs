//! What a store and its thread share: the open file, what waits to be written, and who waits for that.

use super::batch::Batch;
use super::file::{File, Opened, Place, Refusal};
use super::rescue::Rescued;
use super::{candidates, fork, schema};
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
    slot: Mutex<Slot>,
    pub pending: Mutex<Batch>,
    pub ledger: OnceLock<Arc<Ledger>>,
    wake: Mutex<Wake>,
    bell: Condvar,
    /// What has gone wrong and nobody has been told yet.
    notices: Mutex<Vec<String>>,
}

/// The file, or what is known of it while it is not open.
struct Slot {
    file: Option<File>,
    /// Which file has what memory knows; none when it is gone.
    home: Option<Place>,
    /// Whether somebody else has moved it, and that is still to be told.
    moved: bool,
    /// What was in the file before, until it is in the new one.
    rescued: Option<Rescued>,
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

/// What the store's thread has to do next.
struct Round {
    asked: u64,
    stop: bool,
    /// Somebody waits for it.
    waited_for: bool,
}

impl Shared {
    pub fn new(path: PathBuf, room: u64, file: File, writes: bool) -> Arc<Self> {
        let home = Some(file.place);
        Arc::new(Shared {
            path,
            room,
            writes,
            slot: Mutex::new(Slot { file: Some(file), home, moved: false, rescued: None }),
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
        let mut slot = self.slot.lock();
        if self.wake.lock().ended {
            return Err("it is closed".to_owned());
        }
        // A damaged file is put aside, and the work done with a new one.
        for _ in 0..2 {
            let file = match slot.file.take() {
                Some(file) if !self.writes || file.is_at(&self.path) => file,
                gone => self.reopen(&mut slot, gone)?,
            };
            let file = slot.file.insert(file);
            let error = match work(file) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            match (Refusal::of(&error), slot.file.take()) {
                (Refusal::Bad(_, why), Some(file)) if self.writes => {
                    slot.home = None;
                    self.notices.lock().extend(file.condemn(&self.path, &why)?);
                }
                (_, file) => {
                    slot.file = file;
                    return Err(error.to_string());
                }
            }
        }
        Err("every new file is damaged too".to_owned())
    }

    fn reopen(&self, slot: &mut Slot, gone: Option<File>) -> Result<File, String> {
        if !self.writes {
            let file = File::read_only(&self.path).map(|opened| opened.file);
            return file.ok_or_else(|| "it cannot be read".to_owned());
        }
        // A new file may well get the number of the one that is gone.
        slot.moved |= gone.is_some() || slot.home.is_some_and(|home| home != Place::of(&self.path));
        slot.home = slot.home.filter(|_| !slot.moved);
        if let Some(gone) = gone {
            slot.rescued = gone.rescue(&self.path);
        }
        let Opened { mut file, notice, .. } = File::open(&self.path)?;
        if slot.home.is_none() || notice.is_some() {
            self.settle_in(&mut file, slot.rescued.as_ref()).map_err(|error| error.to_string())?;
        }
        let moved = (slot.moved && notice.is_none()).then(|| {
            format!(
                "The store '{}' was removed or replaced while it was in use; what this hub knows is written to the file \
                 that is there now.",
                self.path.display()
            )
        });
        self.notices.lock().extend(notice.into_iter().chain(moved));
        (slot.home, slot.moved, slot.rescued) = (Some(file.place), false, None);
        Ok(file)
    }

    /// Another file gets what the one before had, as far as that could still be read, and what memory knows.
    fn settle_in(&self, file: &mut File, rescued: Option<&Rescued>) -> rusqlite::Result<()> {
        let known = self.ledger.get().map(|ledger| ledger.known()).unwrap_or_default();
        let work = schema::begin(&mut file.connection)?;
        if let Some(rescued) = rescued {
            rescued.write(&work)?;
        }
        candidates::restore(&work, &known)?;
        work.commit()
    }

    /// Whether the file that has what memory knows is at its place.
    fn is_home(&self) -> bool {
        let _gate = fork::pass();
        self.slot.lock().home == Some(Place::of(&self.path))
    }

    /// Closes the file until it is next needed.
    pub fn let_go(&self) {
        self.slot.lock().file = None;
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
            let Round { asked, stop, waited_for } = self.next_turn(pause);
            // Moving it into the file itself takes the disk milliseconds: for those who ask, not every second.
            let failed = self.write_out(stop, waited_for || stop);
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
        self.end();
    }

    /// Nothing is read or written from now on.
    pub fn end(&self) {
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
    fn next_turn(&self, gather: Duration) -> Round {
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
        Round { asked: wake.asked, stop: wake.stop, waited_for: wake.asked != wake.served }
    }

    /// Writes what waits. What cannot be written waits on; why is told once, until it works again.
    fn write_out(&self, stop: bool, settle: bool) -> Option<()> {
        let mut batch = std::mem::take(&mut *self.pending.lock());
        let ledger = self.ledger.get()?;
        batch.learn(ledger.take());
        // In the end a folder that is gone is not made again for what was in it.
        let folder_is_gone = || self.path.parent().is_some_and(|folder| !folder.exists());
        let in_order = self.is_home() && !settle;
        if batch.is_empty() && (in_order || stop && folder_is_gone()) {
            return None;
        }
        let write = |file: &mut File| {
            let saved = batch.write(file, self.room)?;
            if settle {
                file.settle();
            }
            Ok(saved)
        };
        match self.with_file(write) {
            Ok(saved) => {
                saved.into_iter().for_each(|(key, record)| ledger.saved(key, record));
                None
            }
            Err(why) => {
                let mut pending = self.pending.lock();
                let later = std::mem::replace(&mut *pending, batch);
                pending.then(later, self.room);
                if !self.wake.lock().failed {
                    self.notices.lock().push(format!(
                        "The store '{}' cannot be written ({why}); what is learnt waits in memory.",
                        self.path.display()
                    ));
                }
                Some(())
            }
        }
    }
}
