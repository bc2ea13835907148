//! Whether this file is the store that was here before. A run protects from doing something twice, an approval from a second
//! use and a pin from a changed tool only as long as the loss of the store is noticed: in a new file every call would be the
//! first one, and in an older copy every call that was made since.
//!
//! A store has a random id, and counts the changes that must not be lost. One line beside it, `hub.db.id`, says both. It is
//! written after the commit, so it is behind by one commit at most and never ahead. A line that is ahead, or has another id,
//! tells of a store that is gone: then runs, approvals and new pins are refused until a person has looked, and
//! [accepts](accept) the store as it is.

use super::file::{PATIENCE, beside, prepare};
use super::schema;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use toolhub_text::{Message, message};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreIdentity {
    id: String,
    changes: u64,
}

impl StoreIdentity {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        connection
            .prepare_cached("SELECT id, changes FROM store")?
            .query_row([], |row| Ok(StoreIdentity { id: row.get(0)?, changes: row.get::<_, i64>(1)? as u64 }))
    }

    /// Always the same number of bytes, so that one write replaces it.
    fn line(&self) -> String {
        format!("{} {:020}\n", self.id, self.changes)
    }

    fn parse(line: &str) -> Option<Self> {
        let (id, changes) = line.strip_suffix('\n')?.split_once(' ')?;
        Some(StoreIdentity { id: id.to_owned(), changes: changes.parse().ok()? })
    }
}

fn place(store: &Path) -> PathBuf {
    beside(store, ".id")
}

/// What the line says; `None` without one.
fn read(file: &mut impl Read) -> io::Result<Option<StoreIdentity>> {
    let mut line = String::new();
    file.read_to_string(&mut line)?;
    match line.as_str() {
        "" => Ok(None),
        line => StoreIdentity::parse(line).map(Some).ok_or_else(|| ErrorKind::InvalidData.into()),
    }
}

fn noted(store: &Path) -> io::Result<Option<StoreIdentity>> {
    match std::fs::metadata(place(store)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // A pipe in its place would block.
        Ok(found) if !found.is_file() => Err(ErrorKind::InvalidInput.into()),
        _ => read(&mut File::open(place(store))?),
    }
}

/// Whether the line tells of a store that this one is not. A line that cannot be read may.
pub fn is_doubted(store: &Path, connection: &Connection) -> rusqlite::Result<bool> {
    let own = StoreIdentity::of(connection)?;
    Ok(match noted(store) {
        Ok(None) => false,
        Ok(Some(noted)) => noted.id != own.id || noted.changes > own.changes,
        Err(_) => true,
    })
}

/// Counts a change that must not be lost, in its transaction; `None` if the store is doubted.
pub fn count(store: &Path, connection: &Connection) -> rusqlite::Result<Option<StoreIdentity>> {
    if is_doubted(store, connection)? {
        return Ok(None);
    }
    connection.prepare_cached("UPDATE store SET changes = changes + 1")?.execute([])?;
    StoreIdentity::of(connection).map(Some)
}

/// Notes a change after its commit, which the disk has to have: a line must not survive a power cut that its change does not.
pub fn note(store: &Path, own: &StoreIdentity) -> Result<(), Message> {
    let write = || {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place(store))?;
        // Another process may have noted a later one.
        file.lock()?;
        let noted = read(&mut file)?;
        if noted.as_ref().is_some_and(|noted| noted.id != own.id || noted.changes >= own.changes) {
            return Ok(());
        }
        file.rewind()?;
        file.write_all(own.line().as_bytes())?;
        // A power cut that leaves zeros in the place of the first line would put the store in doubt.
        if noted.is_none() { file.sync_data() } else { Ok(()) }
    };
    write().map_err(|error: io::Error| message!("'{}' cannot be written: {}", place(store).display(), error))
}

/// Why runs, approvals and new pins are refused, as the rest of a sentence about the store.
pub fn doubt(store: &Path) -> String {
    let store = store.display();
    format!(
        "it is not the store that was here before, or an older copy of it: look at what has happened, then accept it with \
         'toolhub store accept --store {store}'"
    )
}

/// Accepts a doubted store as it is; false if it is not doubted. What was open in it may have gone on since, and nobody knows
/// how far: its runs do not go on, and approvals that were not used are asked for again.
pub fn accept(store: &Path) -> Result<bool, String> {
    let (mut connection, _) = prepare(store, PATIENCE).map_err(|problem| problem.why().into_owned())?;
    let mut accept = || {
        let work = schema::begin(&mut connection)?;
        if !is_doubted(store, &work)? {
            return Ok(None);
        }
        let further = noted(store).ok().flatten().map_or(0, |noted| noted.changes);
        work.execute("UPDATE store SET changes = max(changes, ?1) + 1", [further as i64])?;
        work.execute_batch(
            "UPDATE runs SET state = 'lost' WHERE state = 'open'; DELETE FROM approvals WHERE state <> 'used';",
        )?;
        let own = StoreIdentity::of(&work)?;
        work.commit().map(|()| Some(own))
    };
    let accepted = accept().map_err(|error: rusqlite::Error| error.to_string())?;
    let Some(own) = accepted else { return Ok(false) };
    let written = File::create(place(store)).and_then(|mut file| {
        file.write_all(own.line().as_bytes())?;
        file.sync_data()
    });
    written.map(|()| true).map_err(|error| format!("'{}' cannot be written: {error}", place(store).display()))
}
