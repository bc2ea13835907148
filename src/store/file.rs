//! The file itself: opening it, finding out whether it is good, and putting a bad one aside.

use super::rescue::Rescued;
use super::schema::{self, STEPS, Standing};
use super::{Memory, fork};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So long a process waits for others that are writing.
const PATIENCE: Duration = Duration::from_secs(5);
const SHORT_PATIENCE: Duration = Duration::from_millis(500);
/// What SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

pub struct File {
    pub connection: Connection,
    pub place: Place,
}

/// Which file it is on its disk, however it is called by now; nothing where the system does not tell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(Option<(u64, u64)>);

/// Why a file cannot be used as it is.
pub enum Refusal {
    /// To be put aside: the word for its new name, and why.
    Bad(&'static str, String),
    /// Not to be touched.
    Unusable(String),
}

impl Refusal {
    pub fn of(error: &rusqlite::Error) -> Refusal {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Refusal::damaged(error),
            // Its version is ours and its tables are not: `no such column`, a text where a number belongs.
            Some(ErrorCode::Unknown) | None => Refusal::damaged(error),
            _ => Refusal::Unusable(error.to_string()),
        }
    }

    fn damaged(error: &rusqlite::Error) -> Refusal {
        Refusal::Bad("corrupt", format!("it is damaged ({error})"))
    }
}

/// A file that is ready, what is in it, and what had to be done for that.
pub struct Opened {
    pub file: File,
    pub memory: Memory,
    pub notice: Option<String>,
}

impl File {
    /// Opens the file or makes it; a bad one is put aside first, and a new one begun.
    pub fn open(path: &Path) -> Result<Opened, String> {
        if !may_be_a_file(path) {
            return Err("it is no file".to_owned());
        }
        let mut notice = None;
        let mut last = String::new();
        for _ in 0..3 {
            match prepare(path) {
                Ok((file, memory)) => return Ok(Opened { file, memory, notice }),
                Err(Refusal::Unusable(why)) => return Err(why),
                Err(Refusal::Bad(..)) => match put_aside(path)? {
                    None => {}
                    told => notice = told,
                },
            }
            last = "it cannot be put aside".to_owned();
        }
        Err(last)
    }

    /// What is in a file that cannot be written, as a disk that is read-only has it; the notice says what could not be read.
    pub fn read_only(path: &Path) -> Option<Opened> {
        if !may_be_a_file(path) {
            return None;
        }
        // What a process that was killed, or one that is still there, has not yet moved into the file.
        let log = fs::metadata(beside(path, "-wal")).is_ok_and(|data| data.is_file() && data.len() > 0);
        let whole = if log { read_as(path, "mode=ro") } else { None };
        whole.or_else(|| {
            let notice = log.then(|| "without what is in its '-wal', which cannot be read here".to_owned());
            // The one way where SQLite can make nothing beside the file; the log has no part in it.
            read_as(path, "immutable=1").map(|opened| Opened { notice, ..opened })
        })
    }

    /// False when the file was removed, put aside or replaced by somebody else: what is written here would be lost.
    pub fn is_at(&self, path: &Path) -> bool {
        self.place == Place::of(path)
    }

    /// Moves what was written from the journal into the file itself, as far as nobody else is using it: then a copy of the
    /// file alone has everything, and nothing is left over when it is moved, or its process killed.
    pub fn settle(&self) {
        // What cannot be moved now stays where it is, and is safe there too.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = self.connection.busy_timeout(PATIENCE);
    }

    /// Lets go of a file that is no longer at its place, and saves what is in it.
    pub fn rescue(mut self, path: &Path) -> Option<Rescued> {
        let ready = schema::migrate(&mut self.connection, STEPS).is_ok_and(|now| now == Standing::Ready);
        let rescued = Rescued::read(&self.connection).ok().filter(|_| ready);
        let _turn = Turn::take(path);
        if path.exists() {
            return rescued;
        }
        self.settle();
        drop(self.connection);
        // They belong to the file that is gone, and would be taken for those of the new one.
        for companion in &COMPANIONS[1..] {
            let _ = fs::remove_file(beside(path, companion));
        }
        rescued
    }

    /// Puts a file aside that turned out to be bad while it was in use. Another process may have been quicker.
    pub fn condemn(self, path: &Path, why: &str) -> Result<Option<String>, String> {
        let place = self.place;
        drop(self.connection);
        let _turn = Turn::take(path);
        if place != Place::of(path) {
            return Ok(None);
        }
        rename(path, "corrupt", why).map(Some)
    }
}

impl Place {
    #[cfg(unix)]
    pub fn of(path: &Path) -> Place {
        use std::os::unix::fs::MetadataExt;
        Place(fs::metadata(path).ok().map(|data| (data.dev(), data.ino())))
    }

    #[cfg(not(unix))]
    pub fn of(_: &Path) -> Place {
        Place(None)
    }
}

/// Whoever opens a pipe waits for somebody at its other end, and a device is not ours to rename.
fn may_be_a_file(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |data| data.is_file())
}

/// Opens a file for reading alone, if all of it can be read in this way of SQLite's.
fn read_as(path: &Path, way: &str) -> Option<Opened> {
    let mut name = String::from("file:");
    for letter in path.to_str()?.chars() {
        match letter {
            '?' => name.push_str("%3f"),
            '#' => name.push_str("%23"),
            '%' => name.push_str("%25"),
            letter => name.push(letter),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(format!("{name}?{way}"), flags).ok()?;
    let ready = schema::migrate(&mut connection, STEPS).ok()? == Standing::Ready;
    let memory = Memory::load(&connection).ok().filter(|_| ready)?;
    Some(Opened { file: File { connection, place: Place::of(path) }, memory, notice: None })
}

fn prepare(path: &Path) -> Result<(File, Memory), Refusal> {
    let begun = Instant::now();
    loop {
        let error = match connect(path) {
            Err(error) => error,
            Ok((connection, Standing::Ready)) => match Memory::load(&connection) {
                Ok(memory) => return Ok((File { connection, place: Place::of(path) }, memory)),
                Err(error) => error,
            },
            Ok((_, Standing::Newer(version))) => {
                let why = format!(
                    "it was written by a later version of toolhub (its tables are at {version}, ours at {})",
                    STEPS.len()
                );
                return Err(Refusal::Bad("newer", why));
            }
            Ok((_, Standing::Foreign)) => {
                let why = "it is the database of another program; give the hub a file of its own";
                return Err(Refusal::Unusable(why.to_owned()));
            }
        };
        match patience_with(&error) {
            Some(patience) if begun.elapsed() <= patience => std::thread::sleep(Duration::from_millis(5)),
            Some(PATIENCE) => {
                return Err(Refusal::Unusable(format!("other processes keep it locked ({error})")));
            }
            _ => return Err(Refusal::of(&error)),
        }
    }
}

/// How long an error may last until it is believed.
fn patience_with(error: &rusqlite::Error) -> Option<Duration> {
    match error.sqlite_error_code()? {
        // Not every lock is waited for by SQLite itself: several processes may be making the same new file.
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(PATIENCE),
        // What a file looks like that another process is just putting aside.
        ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed => Some(SHORT_PATIENCE),
        _ => None,
    }
}

fn connect(path: &Path) -> rusqlite::Result<(Connection, Standing)> {
    make_private(path);
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(PATIENCE)?;
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(code, Some("it is read-only".to_owned())));
    }
    // Before anything is changed: the database of another program stays as it is.
    let standing = schema::migrate(&mut connection, STEPS)?;
    if standing == Standing::Ready {
        // Readers do not wait for writers, and a process that is killed leaves a whole file. Where a disk cannot do that,
        // SQLite stays with its older way, which is safe too.
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    }
    Ok((connection, standing))
}

/// Results and descriptions are nobody else's business. SQLite gives what it makes beside the file the same rights.
fn make_private(path: &Path) {
    if let Some(folder) = path.parent() {
        // When this fails, opening the file says why.
        let _ = fs::create_dir_all(folder);
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Two processes that find the same bad file must not both put it aside: the second one would take away the new one.
struct Turn(Option<(fs::File, PathBuf)>);

impl Turn {
    fn take(path: &Path) -> Turn {
        let name = beside(path, ".lock");
        let held = fs::File::create(&name).ok().filter(|file| file.lock().is_ok());
        Turn(held.map(|file| (file, name)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((_, name)) = &self.0 {
            let _ = fs::remove_file(name);
        }
    }
}

/// Says where the file is now; nothing when another process has done it meanwhile.
fn put_aside(path: &Path) -> Result<Option<String>, String> {
    let _turn = Turn::take(path);
    match prepare(path) {
        Err(Refusal::Bad(word, why)) => rename(path, word, &why).map(Some),
        Err(Refusal::Unusable(why)) => Err(why),
        Ok(_) => Ok(None),
    }
}

fn rename(path: &Path, word: &str, why: &str) -> Result<String, String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let free = |number: &u32| !beside(path, &new_ending(word, seconds, *number)).exists();
    let number = (0..1_000).find(free).unwrap_or(1_000);
    let ending = new_ending(word, seconds, number);
    // The journal first: beside a new file it would be taken for that one's.
    for companion in COMPANIONS.iter().rev() {
        let (old, new) = (beside(path, companion), beside(path, &format!("{ending}{companion}")));
        if old.exists() {
            fs::rename(&old, &new).map_err(|error| format!("{why}, and cannot be put aside ({error})"))?;
        }
    }
    let (path, aside) = (path.display(), beside(path, &ending));
    Ok(format!(
        "The store '{path}' cannot be used: {why}. It was renamed to '{}', and a new one begun.",
        aside.display()
    ))
}

fn new_ending(word: &str, seconds: u64, number: u32) -> String {
    match number {
        0 => format!(".{word}-{seconds}"),
        number => format!(".{word}-{seconds}-{number}"),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether this process may open files at all; see [`fork`].
pub fn check_process() -> Result<(), String> {
    match fork::is_clean() {
        true => Ok(()),
        false => Err("this process was forked while its parent was writing to a store".to_owned()),
    }
}
