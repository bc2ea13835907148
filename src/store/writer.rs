//! The thread that writes a file: what has queued while one commit was under way shares the next one.
//!
//! A call with effects waits for its commit, so the queue is never waited for to fill. Work is done in the order in which
//! it was queued: the start of a later call is never committed without the end of an earlier one. The end of a call that
//! cannot be written, because the disk is full or the file locked, is written with what comes next. The changes of a store may
//! wait, and are gathered until their time has come.
//!
//! A file that another process has locked is waited for in short attempts, so that each task can be given up at its own time.
//! While nothing waits, the thread deletes what is kept no longer, slice by slice.

use crate::file::{self, FileProblem, OpenFile, reader};
use crate::ledger::{OwnerLock, Tidying};
use crate::{Store, fork, identity, schema};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toolhub_text::message;
use toolhub_types::sync::waiting::{self, Condvar, MutexGuard, PoisonError};
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

/// The tables in one transaction.
pub struct OpenTables<'a> {
    pub connection: &'a Connection,
    /// `None`: in memory.
    pub path: Option<&'a Path>,
    /// Who works with them; empty in memory, which no other process sees.
    pub own: &'a str,
}

impl Deref for OpenTables<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl OpenTables<'_> {
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

/// What becomes of a task if the file cannot be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// It fails.
    Now,
    /// Nobody waits for it: it is tried again later.
    MayBeLate,
    /// It is done all the same and at once, as far as the file can be read.
    OnlyReads,
    /// It fails. It is not of the ledger, so it needs neither an owner of rows nor a store that is not in doubt.
    Changes,
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

/// May run more than once: a transaction that fails as a whole is repeated one by one.
type Work = Box<dyn FnMut(&OpenTables<'_>) -> rusqlite::Result<()> + Send>;

pub struct StoreTask {
    work: Work,
    /// Called on the thread of the writer, after the commit.
    done: Box<dyn FnOnce(Result<(), FileProblem>) + Send>,
    terms: TaskTerms,
}

impl StoreTask {
    /// `done` gets what the work has given.
    pub fn new<T: Send + 'static>(
        terms: TaskTerms,
        mut work: impl FnMut(&OpenTables<'_>) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, FileProblem>) + Send + 'static,
    ) -> Self {
        let answer = Arc::new(Mutex::new(None));
        let filled = answer.clone();
        let work = move |tables: &OpenTables<'_>| {
            *filled.lock() = Some(work(tables)?);
            Ok(())
        };
        let done = move |written: Result<(), FileProblem>| {
            let answer = answer.lock().take().ok_or_else(|| "it gave no answer".into());
            done(written.and(answer));
        };
        StoreTask { work: Box::new(work), done: Box::new(done), terms }
    }
}

/// What a batch leaves to be tried again.
#[derive(Default)]
struct UnwrittenTasks {
    tasks: Vec<StoreTask>,
    /// Some of them wait for the lock.
    is_locked: bool,
}

/// The queue, the open file and the thread.
pub struct StoreWriter {
    /// `None`: in memory.
    pub path: Option<PathBuf>,
    /// Its thread waits here while others fork.
    state: waiting::Mutex<QueueState>,
    changed: Condvar,
    file: Mutex<OpenFile>,
    /// The last commit failed because another process has locked the file.
    pub is_locked: AtomicBool,
    /// A writer belongs to one process; its copy in a forked child does nothing.
    process: u32,
}

#[derive(Default)]
struct QueueState {
    tasks: Vec<StoreTask>,
    /// A store whose changes are to be written then, or when the writer is stopped.
    due: Option<(Instant, Arc<Store>)>,
    /// The number of tasks so far.
    put: usize,
    /// What is to be deleted, if that is not known to be nothing.
    tidying: Option<Tidying>,
    /// Why nothing more is taken: what is queued is done, and the thread ends. A locked file is waited for until then.
    stop: Option<(&'static str, Instant)>,
    has_ended: bool,
}

impl QueueState {
    fn is_due(&self) -> bool {
        self.due.as_ref().is_some_and(|(at, _)| self.stop.is_some() || *at <= Instant::now())
    }
}

impl StoreWriter {
    pub fn new(path: Option<PathBuf>, file: OpenFile) -> Arc<Self> {
        let writer = Arc::new(StoreWriter {
            path,
            state: waiting::Mutex::default(),
            changed: Condvar::new(),
            file: Mutex::new(file),
            is_locked: AtomicBool::new(false),
            process: std::process::id(),
        });
        fork::register(Arc::downgrade(&writer));
        let run = writer.clone();
        let thread = std::thread::Builder::new().name("toolhub-store".into()).spawn(move || run.run());
        if thread.is_err() {
            let mut state = writer.lock();
            (state.stop, state.has_ended) = (Some(("its thread cannot be started", Instant::now())), true);
        }
        writer
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its state while it takes tasks, or why it takes none.
    fn open_state(&self) -> Result<MutexGuard<'_, QueueState>, &'static str> {
        // In a fork of its process another thread may have held the lock.
        if self.process != std::process::id() {
            return Err("it belongs to the parent of this process");
        }
        let state = self.lock();
        state.stop.map_or(Ok(state), |(why, _)| Err(why))
    }

    /// Why it takes nothing.
    pub fn refusal(&self) -> Option<&'static str> {
        self.open_state().err()
    }

    pub fn put(&self, task: StoreTask) {
        let mut state = match self.open_state() {
            Ok(state) => state,
            Err(why) => return (task.done)(Err(why.into())),
        };
        kill_point();
        state.tasks.push(task);
        if state.put.is_multiple_of(TIDIED_EVERY) {
            state.tidying.get_or_insert_default();
        }
        state.put += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Writes the changes of a store `after` this time, if not earlier. Until then the store is kept. False if nothing is written
    /// any more.
    pub fn write_after(&self, after: Duration, store: Arc<Store>) -> bool {
        let (Ok(mut state), at) = (self.open_state(), Instant::now() + after) else { return false };
        if state.due.as_ref().is_none_or(|(known, _)| at < *known) {
            state.due = Some((at, store));
            self.changed.notify_all();
        }
        true
    }

    /// The loop of the thread.
    fn run(&self) {
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
        let _gate = fork::pass();
        let mut file = self.file.lock();
        *file = OpenFile::default();
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// What is to be written next, after what is left of the last batch; and whether it is the last.
    fn next_batch(&self, left: UnwrittenTasks, tidies: bool) -> (Vec<StoreTask>, bool) {
        let UnwrittenTasks { tasks: mut batch, is_locked } = left;
        let mut state = self.lock();
        let mut may_tidy = tidies;
        while !is_locked && (may_tidy || state.tasks.is_empty()) && state.stop.is_none() && !state.is_due() {
            may_tidy = false;
            match state.tidying.take() {
                Some(mut tidying) => {
                    drop(state);
                    let has_more = self.tidy(&mut tidying);
                    state = self.lock();
                    state.tidying = state.tidying.take().or(has_more.then_some(tidying));
                }
                None if state.tasks.is_empty() => {
                    let due = state.due.as_ref().map(|(at, _)| at.saturating_duration_since(Instant::now()));
                    let waited = self.changed.wait_timeout(state, due.unwrap_or(Duration::MAX));
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {}
            }
        }
        if !is_locked {
            let end = Instant::now() + PATIENCE;
            batch.iter_mut().for_each(|late| late.terms.until = end);
        }
        let stops = state.stop.is_some();
        let is_last = stops && state.tasks.is_empty() && state.due.is_none();
        let most = state.tasks.len().min(MOST);
        batch.extend(state.tasks.drain(..most));
        // The changes before may be among those that wait for the lock.
        let is_due = !is_locked && state.is_due();
        let due = state.due.take_if(|_| is_due);
        drop(state);
        batch.extend(due.and_then(|(_, store)| store.write(stops)));
        (batch, is_last)
    }

    /// Writes a batch, and gives back what is to be tried again.
    fn write(&self, mut batch: Vec<StoreTask>) -> UnwrittenTasks {
        let mut left = UnwrittenTasks::default();
        if batch.is_empty() {
            return left;
        }
        let written = self.commit(&mut batch);
        let is_locked = written.as_ref().is_err_and(FileProblem::is_locked);
        self.is_locked.store(is_locked, Ordering::Release);
        match written {
            Ok(()) => batch.into_iter().for_each(|task| (task.done)(Ok(()))),
            Err(problem) if problem.is_of_one() && batch.len() > 1 => {
                for task in batch {
                    let one = self.write(vec![task]);
                    left.tasks.extend(one.tasks);
                    left.is_locked |= one.is_locked;
                }
            }
            Err(problem) => {
                for mut task in batch {
                    let TaskTerms { kind, until, .. } = task.terms;
                    let end = self.lock().stop.map_or(until, |(_, end)| end.min(until));
                    let waits = is_locked && Instant::now() < end;
                    if kind == TaskKind::OnlyReads && self.read(&mut task) {
                        (task.done)(Ok(()));
                    } else if waits || (kind == TaskKind::MayBeLate && !problem.is_of_one()) {
                        left.is_locked |= waits;
                        left.tasks.push(task);
                    } else {
                        (task.done)(Err(problem.clone()));
                    }
                }
            }
        }
        left
    }

    fn commit(&self, batch: &mut [StoreTask]) -> Result<(), FileProblem> {
        let now = Instant::now();
        let left = batch.iter().map(|task| task.terms.until.saturating_duration_since(now));
        let patience = left.filter(|left| !left.is_zero()).min().unwrap_or(ATTEMPT).min(ATTEMPT);
        let syncs = batch.iter().any(|task| task.terms.syncs);
        let mut of_ledger = batch.iter().filter(|task| task.terms.kind != TaskKind::Changes).peekable();
        if of_ledger.peek().is_some() {
            self.own_rows()?;
        }
        let is_counted = of_ledger.any(|task| task.terms.syncs);
        kill_point();
        let written = self.transact(patience, (syncs, is_counted), |tables| {
            for task in &mut *batch {
                (task.work)(tables)?;
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
        let deleted = self
            .own_rows()
            .and_then(|()| self.transact(ATTEMPT, (false, false), |tables| tidying.slice(tables)));
        deleted.unwrap_or_else(|problem| problem.is_locked())
    }

    /// Makes sure that rows have an owner, whom other processes see.
    fn own_rows(&self) -> Result<(), FileProblem> {
        let _gate = fork::pass();
        let mut file = self.file.lock();
        if let (Some(path), None) = (&self.path, &file.owner) {
            let owner = OwnerLock::new(path).map_err(|error| {
                FileProblem::Unusable(message!(
                    "nothing can be written beside it: {}; make the file and its folder writable",
                    error
                ))
            })?;
            file.owner = Some(owner);
        }
        Ok(())
    }

    /// Does something in one transaction, for which the lock is waited for as long as `patience`. A change that is counted must
    /// not be lost.
    fn transact<T>(
        &self,
        patience: Duration,
        (syncs, is_counted): (bool, bool),
        mut work: impl FnMut(&OpenTables<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, FileProblem> {
        let _gate = fork::pass();
        let mut file = self.file.lock();
        let mut connection = file.take(self.path.as_deref(), patience)?;
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
                Some(path) if is_counted => match identity::count(path, &transaction)? {
                    Some(counted) => Some((path, counted)),
                    // Others of the batch may do without what is in doubt.
                    None => {
                        return Ok(Err(FileProblem::OfTask(identity::doubt(path).into())));
                    }
                },
                _ => None,
            };
            let done = work(&OpenTables { connection: &transaction, path: self.path.as_deref(), own })?;
            transaction.commit().map(|()| Ok((done, counted)))
        };
        let written = write().unwrap_or_else(|error| Err(FileProblem::of(&error)));
        file.connection = Some(connection);
        file.syncs = syncs;
        let (done, counted) = written?;
        match counted.map(|(path, counted)| identity::note(path, &counted)) {
            Some(Err(why)) => Err(FileProblem::Unusable(why)),
            _ => Ok(done),
        }
    }

    /// Does a task that only reads with a file that cannot be written. False if it cannot be read either.
    fn read(&self, task: &mut StoreTask) -> bool {
        let _gate = fork::pass();
        let file = self.file.lock();
        let Some(path) = &self.path else { return false };
        if file.is_gone(path) {
            return false;
        }
        reader(path).is_ok_and(|connection| {
            (task.work)(&OpenTables { connection: &connection, path: Some(path), own: "" }).is_ok()
        })
    }

    /// Reads from the open file of a store. One that is being written is waited for, or with `at_once` read as it was before.
    pub fn look<T>(
        &self,
        path: &Path,
        at_once: bool,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, FileProblem> {
        let _gate = fork::pass();
        let file = if at_once { self.file.try_lock() } else { Some(self.file.lock()) };
        if self.lock().has_ended {
            return Err("it is closed".into());
        }
        let Some(mut file) = file else {
            let read = reader(path).and_then(|connection| read(&connection));
            return read.map_err(|error| FileProblem::Unusable(error.to_string().into()));
        };
        let connection = file.take(Some(path), file::PATIENCE)?;
        let connection = file.connection.insert(connection);
        connection
            .busy_timeout(file::PATIENCE)
            .and_then(|()| read(connection))
            .map_err(|error| FileProblem::of(&error))
    }

    /// Moves what was written from the log into the file itself.
    pub fn checkpoint(&self) {
        let _gate = fork::pass();
        self.file.lock().connection.as_ref().into_iter().for_each(file::checkpoint);
    }

    /// Closes the file until it is next needed.
    pub fn close_file(&self) {
        // What is in memory would be lost with its connection, and has no locks.
        if self.path.is_some() {
            self.file.lock().connection = None;
        }
    }

    /// Lets the thread do what is queued, write the changes of the store, and end. What a locked file refuses is given up in
    /// time for those that wait with this `patience`.
    pub fn stop(&self, store: Option<Arc<Store>>, patience: Duration) {
        let Ok(mut state) = self.open_state() else { return };
        state.due = store.map(|store| (Instant::now(), store)).or(state.due.take());
        state.stop = Some(("it is closed", Instant::now() + patience.saturating_sub(ATTEMPT * 4)));
        drop(state);
        self.changed.notify_all();
    }

    /// False if the thread did not end in time.
    pub fn wait_for_end(&self, patience: Duration) -> bool {
        // A fork of its process has no thread.
        if self.process != std::process::id() {
            return true;
        }
        let waited = self.changed.wait_timeout_while(self.lock(), patience, |state| !state.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }
}
