//! The thread that writes a ledger: what has queued while one commit was under way shares the next one.
//!
//! A call with effects waits for its commit, so the queue is never waited for to fill. Work is done in the order in which
//! it was queued: the start of a later call is never committed without the end of an earlier one. The end of a call that
//! cannot be written, because the disk is full or the file locked, is written with what comes next.
//!
//! A file that another process has locked is waited for in short attempts, so that each task can be given up at its own time.
//! While nothing waits, the thread deletes what is kept no longer, slice by slice.

use super::owner::LedgerOwner;
use super::tidying::Tidying;
use crate::file::{FileProblem, FileSlot, reader};
use crate::fork::{self, OpenStore};
use crate::identity;
use crate::schema::{self, STEPS};
use crate::start_writer;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use toolhub_text::{Message, message};
use toolhub_types::system::kill_point;

/// The most that share a commit.
const MOST: usize = 1_024;
/// The most that is kept to be tried again; the oldest is given up.
const MOST_LATE: usize = 10_000;
/// How long a task waits for a file that others have locked, unless it has less time.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one attempt waits: what is queued meanwhile may have less time.
const ATTEMPT: Duration = Duration::from_millis(50);
/// Old rows are looked for after this many tasks; a row is at least two, its beginning and its end.
const TIDIED_EVERY: usize = 20_000;
/// A slice is deleted after this many commits, even if the queue is never empty.
const COMMITS_BETWEEN_SLICES: u32 = 16;

/// Why the ledger could not be written, as the rest of a sentence.
pub type LedgerFailure = Message;

/// The tables in one transaction.
pub struct OpenLedger<'a> {
    pub connection: &'a Connection,
    /// `None`: in memory.
    pub path: Option<&'a Path>,
    /// Who works with them; empty in memory, which no other process sees.
    pub own: &'a str,
}

impl Deref for OpenLedger<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl OpenLedger<'_> {
    /// Runs a statement. Returns the number of rows that it has changed.
    pub fn run(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(values)
    }

    /// The first row of a query, as a tuple of its columns.
    pub fn first<T>(&self, sql: &str, values: impl Params) -> rusqlite::Result<Option<T>>
    where
        T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
    {
        self.prepare_cached(sql)?.query_row(values, |row| row.try_into()).optional()
    }
}

/// May run more than once: a transaction that fails as a whole is repeated one by one.
pub type LedgerWork = Box<dyn FnMut(&OpenLedger<'_>) -> rusqlite::Result<()> + Send>;

/// What becomes of a task if the file cannot be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// It fails.
    Now,
    /// Nobody waits for it: it is tried again later.
    MayBeLate,
    /// It is done all the same and at once, as far as the file can be read.
    OnlyReads,
}

/// How a task is done.
#[derive(Clone, Copy)]
pub struct TaskTerms {
    pub kind: TaskKind,
    /// When it is given up if the file is locked.
    pub until: Instant,
    /// It has to survive a power cut: the disk has it when `done` is called.
    pub syncs: bool,
}

impl TaskTerms {
    /// The caller has time until `end`.
    pub fn new(kind: TaskKind, end: Option<Instant>) -> Self {
        TaskTerms { kind, until: end.unwrap_or_else(|| Instant::now() + PATIENCE), syncs: false }
    }

    pub fn synced(self, syncs: bool) -> Self {
        TaskTerms { syncs, ..self }
    }
}

pub struct LedgerTask {
    pub work: LedgerWork,
    /// Called on the thread of the ledger, after the commit.
    pub done: Box<dyn FnOnce(Result<(), LedgerFailure>) + Send>,
    pub terms: TaskTerms,
}

/// Why a commit failed.
struct CommitFailure {
    why: LedgerFailure,
    /// One of the tasks may be at fault. Otherwise it is the file, and each of them would fail.
    is_of_one: bool,
    /// Another process has locked the file.
    is_locked: bool,
}

impl From<LedgerFailure> for CommitFailure {
    fn from(why: LedgerFailure) -> Self {
        CommitFailure { why, is_of_one: false, is_locked: false }
    }
}

impl From<FileProblem> for CommitFailure {
    fn from(problem: FileProblem) -> Self {
        let is_locked = matches!(problem, FileProblem::Locked(_));
        CommitFailure { is_locked, ..problem.why().into() }
    }
}

/// What a batch leaves to be tried again.
#[derive(Default)]
struct UnwrittenTasks {
    tasks: Vec<LedgerTask>,
    /// Some of them wait for the lock.
    is_locked: bool,
}

/// The queue, the open file and the thread.
pub struct LedgerQueue {
    /// `None`: in memory.
    pub path: Option<PathBuf>,
    state: Mutex<QueueState>,
    changed: Condvar,
    file: Mutex<LedgerFile>,
    /// The last commit failed because another process has locked the file.
    pub is_locked: AtomicBool,
}

#[derive(Default)]
struct QueueState {
    tasks: Vec<LedgerTask>,
    /// The number of tasks so far.
    put: usize,
    /// What is to be deleted, if that is not known to be nothing.
    tidying: Option<Tidying>,
    is_started: bool,
    stop: bool,
    ended: bool,
}

#[derive(Default)]
struct LedgerFile {
    slot: FileSlot,
    /// Whether each commit of this connection is written to the disk at once.
    syncs: bool,
    owner: Option<LedgerOwner>,
}

impl LedgerQueue {
    pub fn new(path: Option<PathBuf>) -> Arc<Self> {
        let state = QueueState { tidying: Some(Tidying::default()), ..QueueState::default() };
        let (state, changed, file) = (Mutex::new(state), Condvar::new(), Mutex::default());
        let queue = Arc::new(LedgerQueue { path, state, changed, file, is_locked: AtomicBool::new(false) });
        let open: Weak<LedgerQueue> = Arc::downgrade(&queue);
        fork::register(open);
        queue
    }

    pub fn put(self: &Arc<Self>, task: LedgerTask) {
        let mut state = self.state.lock();
        if state.stop || state.ended {
            drop(state);
            return (task.done)(Err("it is closed".into()));
        }
        kill_point();
        state.tasks.push(task);
        state.put += 1;
        if state.put.is_multiple_of(TIDIED_EVERY) {
            state.tidying.get_or_insert_default();
        }
        if !std::mem::replace(&mut state.is_started, true) && self.start_writer().is_err() {
            state.is_started = false;
            let tasks = std::mem::take(&mut state.tasks);
            drop(state);
            tasks.into_iter().for_each(|task| (task.done)(Err("its thread cannot be started".into())));
            return;
        }
        drop(state);
        self.changed.notify_all();
    }

    fn start_writer(self: &Arc<Self>) -> io::Result<()> {
        let queue = self.clone();
        start_writer("toolhub-ledger", move || queue.run_writer())
    }

    /// The loop of the thread.
    fn run_writer(&self) {
        let (mut left, mut commits) = (UnwrittenTasks::default(), 1_u32);
        loop {
            let (batch, is_last) = self.next_batch(left, commits.is_multiple_of(COMMITS_BETWEEN_SLICES));
            left = self.write(batch);
            if !left.is_locked {
                left.tasks.drain(..left.tasks.len().saturating_sub(MOST_LATE));
            }
            commits = commits.wrapping_add(1);
            if is_last && !left.is_locked {
                break;
            }
        }
        {
            let _gate = fork::pass();
            *self.file.lock() = LedgerFile::default();
        }
        self.state.lock().ended = true;
        self.changed.notify_all();
    }

    /// What is to be written next, after what is left of the last batch; and whether it is the last.
    fn next_batch(&self, left: UnwrittenTasks, tidies: bool) -> (Vec<LedgerTask>, bool) {
        let UnwrittenTasks { tasks: mut batch, is_locked } = left;
        let mut state = self.state.lock();
        let mut may_tidy = tidies;
        while !is_locked && (may_tidy || state.tasks.is_empty()) && !state.stop {
            may_tidy = false;
            match state.tidying.take() {
                Some(mut tidying) => {
                    let has_more = MutexGuard::unlocked(&mut state, || self.tidy(&mut tidying));
                    state.tidying = state.tidying.take().or(has_more.then_some(tidying));
                }
                None if state.tasks.is_empty() => self.changed.wait(&mut state),
                None => {}
            }
        }
        if !is_locked {
            let end = Instant::now() + PATIENCE;
            batch.iter_mut().for_each(|late| late.terms.until = end);
        }
        let is_last = state.stop && state.tasks.is_empty();
        let most = state.tasks.len().min(MOST);
        batch.extend(state.tasks.drain(..most));
        (batch, is_last)
    }

    /// Writes a batch, and gives back what is to be tried again.
    fn write(&self, mut batch: Vec<LedgerTask>) -> UnwrittenTasks {
        let mut left = UnwrittenTasks::default();
        if batch.is_empty() {
            return left;
        }
        let written = self.commit(&mut batch);
        let is_locked = written.as_ref().is_err_and(|failure| failure.is_locked);
        self.is_locked.store(is_locked, Ordering::Release);
        match written {
            Ok(()) => batch.into_iter().for_each(|task| (task.done)(Ok(()))),
            Err(failure) if failure.is_of_one && batch.len() > 1 => {
                for task in batch {
                    let one = self.write(vec![task]);
                    left.tasks.extend(one.tasks);
                    left.is_locked |= one.is_locked;
                }
            }
            Err(failure) => {
                for mut task in batch {
                    let TaskTerms { kind, until, .. } = task.terms;
                    let waits = failure.is_locked && Instant::now() < until;
                    if kind == TaskKind::OnlyReads && self.read(&mut task) {
                        (task.done)(Ok(()));
                    } else if waits || (kind == TaskKind::MayBeLate && !failure.is_of_one) {
                        left.is_locked |= waits;
                        left.tasks.push(task);
                    } else {
                        (task.done)(Err(failure.why.clone()));
                    }
                }
            }
        }
        left
    }

    fn commit(&self, batch: &mut [LedgerTask]) -> Result<(), CommitFailure> {
        let now = Instant::now();
        let left = batch.iter().map(|task| task.terms.until.saturating_duration_since(now));
        let patience = left.filter(|left| !left.is_zero()).min().unwrap_or(ATTEMPT).min(ATTEMPT);
        let syncs = batch.iter().any(|task| task.terms.syncs);
        kill_point();
        let written = self.transact(patience, syncs, |ledger| {
            for task in &mut *batch {
                (task.work)(ledger)?;
                kill_point();
            }
            Ok(())
        });
        kill_point();
        written
    }

    /// Deletes a slice of what is kept no longer. False if nothing is left to delete, or the file cannot be used; while others
    /// are writing, it is tried again.
    fn tidy(&self, tidying: &mut Tidying) -> bool {
        self.transact(ATTEMPT, false, |ledger| tidying.slice(ledger))
            .unwrap_or_else(|failure| failure.is_locked)
    }

    /// Does something in one transaction, for which the lock is waited for as long as `patience`.
    fn transact<T>(
        &self,
        patience: Duration,
        syncs: bool,
        mut work: impl FnMut(&OpenLedger<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, CommitFailure> {
        let _gate = fork::pass();
        let mut file = self.file.lock();
        let mut connection = self.connection(&mut file, patience)?;
        let own = file.owner.as_ref().map_or("", |owner| &owner.id);
        let is_synced = file.syncs;
        let mut write = || {
            connection.busy_timeout(patience)?;
            if syncs != is_synced {
                // A commit of the log in this mode waits until the disk has it; otherwise a power cut loses the last ones.
                connection.pragma_update(None, "synchronous", if syncs { "full" } else { "normal" })?;
            }
            let transaction = schema::begin(&mut connection)?;
            let counted = match &self.path {
                Some(path) if syncs => match identity::count(path, &transaction)? {
                    Some(counted) => Some((path, counted)),
                    // Others of the batch may do without what is in doubt.
                    None => {
                        let doubt = LedgerFailure::from(identity::doubt(path));
                        return Ok(Err(CommitFailure { is_of_one: true, ..doubt.into() }));
                    }
                },
                _ => None,
            };
            let ledger = OpenLedger { connection: &transaction, path: self.path.as_deref(), own };
            let done = work(&ledger)?;
            transaction.commit().map(|()| Ok((done, counted)))
        };
        let written = write().unwrap_or_else(|error| {
            let problem = FileProblem::of(&error);
            let is_of_one = match problem {
                FileProblem::Unusable(_) => !is_of_file(&error),
                FileProblem::Bad(_) => true,
                FileProblem::Locked(_) | FileProblem::Gone => false,
            };
            Err(CommitFailure { is_of_one, ..problem.into() })
        });
        file.slot.open = Some(connection);
        file.syncs = syncs;
        let (done, counted) = written?;
        match counted.map(|(path, counted)| identity::note(path, &counted)) {
            Some(Err(why)) => Err(why.into()),
            _ => Ok(done),
        }
    }

    /// Does a task that only reads with a file that cannot be written. False if it cannot be read either.
    fn read(&self, task: &mut LedgerTask) -> bool {
        let _gate = fork::pass();
        let file = self.file.lock();
        let Some(path) = &self.path else { return false };
        if file.slot.is_gone(path) {
            return false;
        }
        reader(path).is_ok_and(|connection| {
            (task.work)(&OpenLedger { connection: &connection, path: Some(path), own: "" }).is_ok()
        })
    }

    fn connection(&self, file: &mut LedgerFile, patience: Duration) -> Result<Connection, CommitFailure> {
        let Some(path) = &self.path else {
            return file.slot.open.take().map_or_else(in_memory, Ok);
        };
        if file.owner.is_none() {
            let owner = LedgerOwner::new(path).map_err(|error| {
                CommitFailure::from(message!(
                    "nothing can be written beside it: {}; make the file and its folder writable",
                    error
                ))
            })?;
            file.owner = Some(owner);
        }
        file.syncs &= file.slot.open.is_some();
        Ok(file.slot.take(path, patience)?)
    }
}

fn is_of_file(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
    let of_file = [CannotOpen, DiskFull, ReadOnly, SystemIoFailure];
    error.sqlite_error_code().is_some_and(|code| of_file.contains(&code))
}

fn in_memory() -> Result<Connection, CommitFailure> {
    let make = || {
        let mut connection = Connection::open_in_memory()?;
        schema::migrate(&mut connection, STEPS)?;
        rusqlite::Result::Ok(connection)
    };
    make().map_err(|error: rusqlite::Error| LedgerFailure::from(error.to_string()).into())
}

impl OpenStore for LedgerQueue {
    fn close_file(&self) {
        // What is in memory would be lost with its connection, and has no locks.
        if self.path.is_some() {
            self.file.lock().slot.open = None;
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
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.ended, patience);
        state.ended
    }
}
