//! Accepted tool definitions, and those that have changed since.

use super::time::now;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

/// A tool's definition as JSON, and its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    pub hash: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPin {
    pub server: Arc<str>,
    pub tool: Arc<str>,
    /// Empty if none was accepted yet.
    pub accepted: Definition,
    /// The server's current definition, if it differs.
    pub changed: Option<Definition>,
}

/// A change to a pin. Never the whole pin: another process may have accepted a definition meanwhile.
#[derive(Clone, Debug)]
pub enum PinChange {
    /// Seen for the first time, and so accepted. The first process to write it wins.
    First(Definition),
    /// Seen for the first time after the pins were lost, and so not accepted.
    Unaccepted(Definition),
    Changed(Definition),
    Accepted(Definition),
}

const COLUMNS: &str = "server, tool, accepted, accepted_hash, seen, seen_hash";

pub fn load(connection: &Connection) -> rusqlite::Result<Vec<StoredPin>> {
    let mut query = connection.prepare(&format!("SELECT {COLUMNS} FROM pins ORDER BY server, tool"))?;
    query.query_map([], pin)?.collect()
}

pub fn one(connection: &Connection, server: &str, tool: &str) -> rusqlite::Result<Option<StoredPin>> {
    connection
        .prepare(&format!("SELECT {COLUMNS} FROM pins WHERE server = ?1 AND tool = ?2"))?
        .query_row([server, tool], pin)
        .optional()
}

fn pin(row: &Row<'_>) -> rusqlite::Result<StoredPin> {
    let text = |column: usize| row.get::<_, String>(column);
    let changed = match (row.get::<_, Option<String>>(4)?, row.get::<_, Option<String>>(5)?) {
        (Some(text), Some(hash)) => Some(Definition { hash, text }),
        _ => None,
    };
    Ok(StoredPin {
        server: Arc::from(text(0)?),
        tool: Arc::from(text(1)?),
        accepted: Definition { text: text(2)?, hash: text(3)? },
        changed,
    })
}

pub fn save(connection: &Connection, changes: &[(Arc<str>, Arc<str>, PinChange)]) -> rusqlite::Result<()> {
    for (server, tool, change) in changes {
        let (sql, Definition { hash, text }) = match change {
            PinChange::First(definition) => (
                "INSERT OR IGNORE INTO pins (server, tool, accepted, accepted_hash, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                definition,
            ),
            PinChange::Unaccepted(definition) => (
                "INSERT OR IGNORE INTO pins (server, tool, accepted, accepted_hash, seen, seen_hash, changed_at)
                 VALUES (?1, ?2, '', '', ?3, ?4, ?5)",
                definition,
            ),
            PinChange::Changed(definition) => (
                "UPDATE pins SET seen = ?3, seen_hash = ?4, changed_at = ?5
                 WHERE server = ?1 AND tool = ?2 AND accepted_hash <> ?4",
                definition,
            ),
            PinChange::Accepted(definition) => (
                "INSERT OR REPLACE INTO pins (server, tool, accepted, accepted_hash, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                definition,
            ),
        };
        connection.prepare(sql)?.execute(params![&**server, &**tool, text, hash, now()])?;
    }
    Ok(())
}
