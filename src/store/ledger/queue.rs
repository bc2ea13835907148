//! The thread that writes a ledger: what has queued while one commit was under way shares the next one.
//!
//! A call with effects waits for its commit, so the queue is never waited for to fill. Work is done in the order in which
//! it was queued: the start of a later call is never committed without the end of an earlier one. The end of a call that
//! cannot be written, because the disk is full or the file locked, is written with what comes next.

use super::owner::LedgerOwner;
use crate::kill_point::kill_point;
use crate::store::file::{FileId, FileProblem, StoreFile, readers};
use crate::store::fork::{self, OpenStore};
use crate::store::schema::{self, STEPS};
use crate::store::writer;
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The most that share a commit.
const MOST: usize = 1_024;
/// The most that is kept to be tried again; the oldest is given up.
const MOST_LATE: usize = 10_000;

/// Why the ledger could not be written, as the rest of a sentence.
pub type LedgerFailure = String;

/// May run more than once: a transaction that fails as a whole is repeated one by one.
pub type LedgerWork = Box<dyn FnMut(&Connection, &str) -> rusqlite::Result<()> + Send>;

/// What becomes of a task if the file cannot be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// It fails.
    Now,
    /// Nobody waits for it: it is tried again later.
    MayBeLate,
    /// It is done all the same, as far as the file can be read.
    OnlyReads,
}

pub struct LedgerTask {
    pub work: LedgerWork,
    /// Called on the thread of the ledger, after the commit.
    pub done: Box<dyn FnOnce(Result<(), LedgerFailure>) + Send>,
    pub kind: TaskKind,
}

/// Why a commit failed.
struct CommitFailure {
    why: LedgerFailure,
    /// One of the tasks may be at fault. Otherwise it is the file, and each of them would fail.
    is_of_one: bool,
}

/// The queue, the open file and the thread.
pub struct LedgerQueue {
    /// `None`: in memory.
    pub path: Option<PathBuf>,
    state: Mutex<QueueState>,
    changed: Condvar,
    file: Mutex<LedgerFile>,
}

#[derive(Default)]
struct QueueState {
    tasks: Vec<LedgerTask>,
    is_started: bool,
    stop: bool,
    ended: bool,
}

#[derive(Default)]
struct LedgerFile {
    open: Option<Connection>,
    /// The file that rows were written to. Another one in its place does not have them.
    known: Option<FileId>,
    owner: Option<LedgerOwner>,
}

impl LedgerQueue {
    pub fn new(path: Option<PathBuf>) -> Arc<Self> {
        let (state, changed, file) = (Mutex::default(), Condvar::new(), Mutex::default());
        let queue = Arc::new(LedgerQueue { path, state, changed, file });
        let open: Weak<LedgerQueue> = Arc::downgrade(&queue);
        fork::register(open);
        queue
    }

    pub fn put(self: &Arc<Self>, task: LedgerTask) {
        let mut state = self.state.lock();
        if state.stop || state.ended {
            drop(state);
            return (task.done)(Err("it is closed".to_owned()));
        }
        kill_point();
        state.tasks.push(task);
        if !std::mem::replace(&mut state.is_started, true) && self.start_writer().is_err() {
            state.is_started = false;
            let tasks = std::mem::take(&mut state.tasks);
            drop(state);
            tasks.into_iter().for_each(|task| (task.done)(Err("its thread cannot be started".to_owned())));
            return;
        }
        drop(state);
        self.changed.notify_all();
    }

    fn start_writer(self: &Arc<Self>) -> io::Result<()> {
        let queue = self.clone();
        writer::start("toolhub-ledger", move || queue.run_writer())
    }

    /// The loop of the thread.
    fn run_writer(&self) {
        let (mut late, mut is_last) = (Vec::new(), false);
        while !is_last {
            let batch;
            (batch, is_last) = self.next_batch(late);
            late = self.write(batch);
            late.drain(..late.len().saturating_sub(MOST_LATE));
        }
        {
            let _gate = fork::pass();
            *self.file.lock() = LedgerFile::default();
        }
        self.state.lock().ended = true;
        self.changed.notify_all();
    }

    /// What is to be written next, after what is late; and whether it is the last.
    fn next_batch(&self, mut batch: Vec<LedgerTask>) -> (Vec<LedgerTask>, bool) {
        let mut state = self.state.lock();
        while state.tasks.is_empty() && !state.stop {
            self.changed.wait(&mut state);
        }
        let is_last = state.tasks.is_empty();
        let most = state.tasks.len().min(MOST);
        batch.extend(state.tasks.drain(..most));
        (batch, is_last)
    }

    /// Writes a batch, and gives back what is to be tried again.
    fn write(&self, mut batch: Vec<LedgerTask>) -> Vec<LedgerTask> {
        if batch.is_empty() {
            return batch;
        }
        match self.commit(&mut batch) {
            Ok(()) => {
                batch.into_iter().for_each(|task| (task.done)(Ok(())));
                Vec::new()
            }
            Err(failure) if failure.is_of_one && batch.len() > 1 => {
                batch.into_iter().flat_map(|task| self.write(vec![task])).collect()
            }
            Err(failure) => {
                let is_late = |task: &LedgerTask| task.kind == TaskKind::MayBeLate && !failure.is_of_one;
                let (late, failed): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_late);
                for mut task in failed {
                    let is_read = task.kind == TaskKind::OnlyReads && self.read(&mut task);
                    (task.done)(if is_read { Ok(()) } else { Err(failure.why.clone()) });
                }
                late
            }
        }
    }

    fn commit(&self, batch: &mut [LedgerTask]) -> Result<(), CommitFailure> {
        let _gate = fork::pass();
        let mut file = self.file.lock();
        let of_file = |why| CommitFailure { why, is_of_one: false };
        let mut connection = self.connection(&mut file).map_err(of_file)?;
        let owner = file.owner.as_ref().map_or("", |owner| &owner.id);
        let mut write = || {
            kill_point();
            let work = schema::begin(&mut connection)?;
            for task in &mut *batch {
                (task.work)(&work, owner)?;
                kill_point();
            }
            let committed = work.commit();
            kill_point();
            committed
        };
        let written = write().map_err(|error| match FileProblem::of(&error) {
            FileProblem::Bad(_, why) => CommitFailure { why, is_of_one: true },
            FileProblem::Unusable(why) => CommitFailure { is_of_one: !is_of_file(&error), why },
        });
        file.open = Some(connection);
        written
    }

    /// Does a task that only reads with a file that cannot be written. False if it cannot be read either.
    fn read(&self, task: &mut LedgerTask) -> bool {
        let _gate = fork::pass();
        let file = self.file.lock();
        let Some(path) = &self.path else { return false };
        if file.known.is_some_and(|known| known != FileId::of(path)) {
            return false;
        }
        readers(path).any(|connection| (task.work)(&connection, "").is_ok())
    }

    fn connection(&self, file: &mut LedgerFile) -> Result<Connection, LedgerFailure> {
        let Some(path) = &self.path else {
            file.owner.get_or_insert_with(LedgerOwner::in_memory);
            return file.open.take().map_or_else(in_memory, Ok);
        };
        let found = FileId::of(path);
        if file.known.is_some_and(|known| known != found) {
            file.open = None;
            return Err("it was removed or replaced while it was in use".to_owned());
        }
        if file.owner.is_none() {
            let owner = LedgerOwner::new(path).map_err(|error| {
                format!("nothing can be written beside it: {error}; make the file and its folder writable")
            })?;
            file.owner = Some(owner);
        }
        let connection = match file.open.take() {
            Some(connection) => connection,
            None => match StoreFile::prepare(path) {
                Ok((opened, _)) => opened.connection,
                Err(FileProblem::Bad(_, why) | FileProblem::Unusable(why)) => return Err(why),
            },
        };
        file.known = Some(FileId::of(path));
        Ok(connection)
    }
}

fn is_of_file(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure,
    };
    let of_file = [CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure];
    error.sqlite_error_code().is_some_and(|code| of_file.contains(&code))
}

fn in_memory() -> Result<Connection, LedgerFailure> {
    let make = || {
        let mut connection = Connection::open_in_memory()?;
        schema::migrate(&mut connection, STEPS)?;
        rusqlite::Result::Ok(connection)
    };
    make().map_err(|error: rusqlite::Error| error.to_string())
}

impl OpenStore for LedgerQueue {
    fn close_file(&self) {
        // What is in memory would be lost with its connection, and has no locks.
        if self.path.is_some() {
            self.file.lock().open = None;
        }
    }

    fn stop(&self) {
        let mut state = self.state.lock();
        state.stop = true;
        state.ended |= !state.is_started;
        drop(state);
        self.changed.notify_all();
    }

    fn wait_for_end(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.state.lock();
        while !state.ended {
            if self.changed.wait_until(&mut state, end).timed_out() {
                return false;
            }
        }
        true
    }
}
