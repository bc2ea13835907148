//! The file: opening it, checking it, and reading what it has.

use super::candidates;
use super::ledger::OwnerLock;
use super::schema::{self, STEPS, SchemaState};
use super::tables::{self, StoredPin, Use};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::stats::{Record, StatsKey};

/// How long to wait for other processes that are writing.
pub const PATIENCE: Duration = Duration::from_secs(5);
const SHORT_PATIENCE: Duration = Duration::from_millis(500);

/// The file that a writer works with. It is closed for a fork, and opened again when it is next needed.
#[derive(Default)]
pub struct OpenFile {
    pub connection: Option<Connection>,
    /// Whether each commit of this connection is written to the disk at once.
    pub syncs: bool,
    /// The file as it was opened first. Any other one at its path is not ours.
    known: Option<FileId>,
    /// Who writes rows of the ledger.
    pub owner: Option<OwnerLock>,
}

impl OpenFile {
    pub fn new(path: &Path, connection: Connection) -> Self {
        let known = Some(FileId::of(path));
        OpenFile { connection: Some(connection), known, ..OpenFile::default() }
    }

    /// Whether another file is at its path now: what is written to the open one would be lost.
    pub fn is_gone(&self, path: &Path) -> bool {
        self.known.is_some_and(|known| known != FileId::of(path))
    }

    /// Takes the connection, to be put back after the work; without a path, one that is in memory.
    pub fn take(&mut self, path: Option<&Path>, patience: Duration) -> Result<Connection, FileProblem> {
        if path.is_some_and(|path| self.is_gone(path)) {
            self.connection = None;
            return Err(FileProblem::Gone);
        }
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        self.syncs = false;
        let Some(path) = path else {
            return in_memory().map_err(|error| FileProblem::Unusable(error.to_string().into()));
        };
        let connection = prepare(path, patience)?.0;
        self.known.get_or_insert_with(|| FileId::of(path));
        Ok(connection)
    }
}

fn in_memory() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    schema::migrate(&mut connection, STEPS).map(|_| connection)
}

/// What is read whenever the file is opened, so that a damaged one is noticed before anything is written to it.
pub type StoredState = (Vec<(StatsKey, Record)>, Vec<Use>, Vec<StoredPin>);

fn load(connection: &Connection) -> rusqlite::Result<StoredState> {
    Ok((candidates::load(connection)?, tables::uses(connection)?, tables::pins(connection)?))
}

/// Identifies a file on its disk, whatever its name is; empty where the system has no such number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileId(Option<(u64, u64)>);

/// Why a file cannot be used, as the rest of a sentence.
#[derive(Clone)]
pub enum FileProblem {
    /// It is damaged, or a later version wrote it. A person has to look.
    Bad(Message),
    /// Other processes are writing.
    Locked(Message),
    /// Not to be touched.
    Unusable(Message),
    /// Something is wrong with a task, and others can do without it.
    OfTask(Message),
    /// It was removed or replaced while it was in use.
    Gone,
}

impl FileProblem {
    pub fn of(error: &rusqlite::Error) -> FileProblem {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                let why = "it is not a database and was left unchanged; give the hub its own file";
                FileProblem::Bad(why.into())
            }
            // The version may match where the tables do not: `no such column`, or text in place of a number.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) | None => {
                FileProblem::Bad(format!("it is damaged ({})", clip(&error.to_string())).into())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                FileProblem::Locked(format!("other processes keep it locked ({error})").into())
            }
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure,
            ) => FileProblem::Unusable(clip(&error.to_string()).into_owned().into()),
            _ => FileProblem::OfTask(clip(&error.to_string()).into_owned().into()),
        }
    }

    /// The error of a call that is not made because of it. A lock passes, so that the call may be made later.
    pub fn refusal(&self, text: Message) -> HubError {
        let kind = if self.is_locked() { ErrorKind::Overloaded } else { ErrorKind::NotAllowed };
        HubError { public: Some(kind.sentence()), ..HubError::new(kind, text) }
    }

    /// Other processes have locked the file.
    pub fn is_locked(&self) -> bool {
        matches!(self, FileProblem::Locked(_))
    }

    /// One of several tasks may be at fault. Otherwise it is the file, and each of them would fail.
    pub fn is_of_one(&self) -> bool {
        matches!(self, FileProblem::OfTask(_) | FileProblem::Bad(_))
    }

    pub fn why(&self) -> Message {
        match self {
            FileProblem::Bad(why)
            | FileProblem::Locked(why)
            | FileProblem::Unusable(why)
            | FileProblem::OfTask(why) => why.clone(),
            FileProblem::Gone => "it was removed or replaced while it was in use".into(),
        }
    }
}

impl From<&'static str> for FileProblem {
    fn from(why: &'static str) -> Self {
        FileProblem::Unusable(why.into())
    }
}

/// Opens or creates the file, and reads its content. Other processes that are writing are waited for.
pub fn prepare(path: &Path, patience: Duration) -> Result<(Connection, StoredState), FileProblem> {
    // Opening a pipe would block.
    if !fs::metadata(path).map_or(true, |data| data.is_file()) {
        return Err("it is not a file".into());
    }
    let begun = Instant::now();
    loop {
        let error = match connect(path, patience) {
            Err(error) => error,
            Ok((connection, SchemaState::Ready)) => match load(&connection) {
                Ok(state) => return Ok((connection, state)),
                Err(error) => error,
            },
            Ok((_, SchemaState::Newer(version))) => {
                let why = format!(
                    "it was written by a later version of toolhub (its tables are at {version}, ours at {})",
                    STEPS.len()
                );
                return Err(FileProblem::Bad(why.into()));
            }
            Ok((_, SchemaState::Foreign)) => {
                return Err("it is another program's database; give the hub its own file".into());
            }
        };
        match patience_with(&error, patience) {
            Some(patience) if begun.elapsed() <= patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return Err(FileProblem::of(&error)),
        }
    }
}

/// Moves the log into the file itself, as far as no other process uses it, so that a copy of the file alone is complete.
pub fn checkpoint(connection: &Connection) {
    // What cannot be moved now is safe in the log.
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(PATIENCE);
}

impl FileId {
    #[cfg(unix)]
    pub fn of(path: &Path) -> FileId {
        use std::os::unix::fs::MetadataExt;
        FileId(fs::metadata(path).ok().map(|data| (data.dev(), data.ino())))
    }

    #[cfg(not(unix))]
    pub fn of(_: &Path) -> FileId {
        FileId(None)
    }
}

/// Where a file really is. Two hubs that name it in different ways, one through a link, must name the files beside it alike.
pub fn real_place(path: &Path) -> PathBuf {
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Ok(real) = fs::canonicalize(&place) {
        return real;
    }
    let folder = place.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, place.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => place,
    }
}

/// How long an error may last before it counts.
fn patience_with(error: &rusqlite::Error, with_locks: Duration) -> Option<Duration> {
    match error.sqlite_error_code()? {
        // SQLite does not wait for every lock itself: several processes may be creating the same file.
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(with_locks),
        // Seen while another process is making the file.
        ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed => Some(SHORT_PATIENCE),
        _ => None,
    }
}

/// A connection that only reads, and never waits.
pub fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

fn connect(path: &Path, patience: Duration) -> rusqlite::Result<(Connection, SchemaState)> {
    create_private(path);
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(patience)?;
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(code, Some("it is read-only".to_owned())));
    }
    keep_older(path, &connection)?;
    // Before anything is changed: the database of another program stays as it is.
    let state = schema::migrate(&mut connection, STEPS)?;
    if state == SchemaState::Ready {
        // Readers do not wait for writers, and a killed process leaves an intact file. On a disk that does not support
        // it, SQLite stays with its older journal, which is safe too.
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    }
    Ok((connection, state))
}

/// Copies a store of an older format that has runs, with what is noted of them: only the version that began them can finish
/// them.
fn keep_older(path: &Path, connection: &Connection) -> rusqlite::Result<()> {
    let Some(version) = schema::older_runs(connection)? else { return Ok(()) };
    let copy = older_name(path, version);
    if copy.exists() {
        return Ok(());
    }
    // Nothing that goes wrong here is a fault of the file.
    let failed = |why: String| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(code, Some(format!("it cannot be copied before it is changed: {why}")))
    };
    let unfinished = beside(path, &format!(".copy-{:016x}", fastrand::u64(..)));
    let copied = connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()]);
    copied.map_err(|error| match FileProblem::of(&error) {
        FileProblem::Locked(_) => error,
        _ => failed(error.to_string()),
    })?;
    // The version that wrote it notes runs beside it; without notes nothing was lost.
    let _ = fs::copy(beside(path, ".runs"), beside(&copy, ".runs"));
    fs::rename(&unfinished, &copy).map_err(|error| failed(error.to_string()))
}

fn older_name(path: &Path, version: usize) -> PathBuf {
    beside(path, &format!(".format-{version}"))
}

/// The copy of a store from before its format was changed.
pub fn older_copy(path: &Path) -> Option<PathBuf> {
    (0..STEPS.len()).rev().map(|version| older_name(path, version)).find(|copy| copy.exists())
}

/// Creates the file readable for its owner alone: it holds results. SQLite gives its companions the same rights.
fn create_private(path: &Path) {
    if let Some(folder) = path.parent() {
        // If this fails, opening the file reports why.
        let _ = fs::create_dir_all(folder);
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
