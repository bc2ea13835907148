//! What the file keeps for a hub beside statistics and the ledger: the last fetched tool lists of MCP servers, which tools were
//! used for which queries (only hashes of the query words), whole results that were truncated for a prompt, by handle, and
//! tool definitions: those that were accepted, and those that have changed since.

use super::time::{micros, moment, now};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

/// Lists are deleted after a year: the server is gone.
const MAX_AGE: i64 = 365 * 24 * 3_600 * 1_000_000;

/// Identifies a server: its id, and a checksum of its command line or address, so that another server with the same id has
/// its own list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListKey {
    pub server: Arc<str>,
    pub config: u32,
}

/// A list, and the server's protocol and version at that time.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredList {
    pub era: String,
    /// The version of the protocol.
    pub protocol: String,
    /// The version of the server, if it gave one.
    pub version: Option<String>,
    pub listed_at: SystemTime,
    /// The time to live that the server gave.
    pub ttl_ms: Option<u64>,
    /// The list, as JSON.
    pub tools: String,
}

pub fn list(connection: &Connection, key: &ListKey) -> rusqlite::Result<Option<StoredList>> {
    let sql = "SELECT era, protocol, version, listed_at, ttl_ms, tools FROM lists WHERE server = ?1 AND config = ?2";
    let list = connection.query_row(sql, params![&*key.server, key.config], |row| {
        Ok(StoredList {
            era: row.get(0)?,
            protocol: row.get(1)?,
            version: row.get(2)?,
            listed_at: moment(row.get(3)?),
            ttl_ms: row.get::<_, Option<i64>>(4)?.and_then(|ms| u64::try_from(ms).ok()),
            tools: row.get(5)?,
        })
    });
    list.optional()
}

/// Keeps a list that another process has fetched later, unless its time is in the future (the clock was set back).
pub fn save_lists(connection: &Connection, lists: &HashMap<ListKey, StoredList>) -> rusqlite::Result<()> {
    if lists.is_empty() {
        return Ok(());
    }
    let mut put = connection.prepare(
        "INSERT INTO lists (server, config, era, protocol, version, listed_at, ttl_ms, tools)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (server, config) DO UPDATE SET
            era = excluded.era, protocol = excluded.protocol, version = excluded.version,
            listed_at = excluded.listed_at, ttl_ms = excluded.ttl_ms, tools = excluded.tools
         WHERE excluded.listed_at >= lists.listed_at OR lists.listed_at > ?9",
    )?;
    let now = now();
    for (key, list) in lists {
        put.execute(params![
            &*key.server,
            key.config,
            list.era,
            list.protocol,
            list.version,
            micros(list.listed_at),
            list.ttl_ms.and_then(|ms| i64::try_from(ms).ok()),
            list.tools,
            now,
        ])?;
    }
    connection.execute("DELETE FROM lists WHERE listed_at < ?1", [now - MAX_AGE]).map(drop)
}

/// A hub remembers this many, so more pending ones are not worth writing.
pub const MAX_USES: usize = 1_024;

/// The hashed words of a query, and the tool that was used for it.
pub type Use = (Vec<u64>, Arc<str>);

/// The oldest first.
pub fn uses(connection: &Connection) -> rusqlite::Result<Vec<Use>> {
    let mut query = connection.prepare("SELECT words, tool FROM uses ORDER BY id")?;
    let rows = query.query_map([], |row| {
        let words: Vec<u8> = row.get(0)?;
        let (words, _) = words.as_chunks::<8>();
        let tool: String = row.get(1)?;
        Ok((words.iter().map(|word| u64::from_le_bytes(*word)).collect(), Arc::from(tool)))
    })?;
    rows.collect()
}

pub fn save_uses(connection: &Connection, uses: &[Use]) -> rusqlite::Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    let mut put = connection.prepare("INSERT INTO uses (words, tool) VALUES (?1, ?2)")?;
    for (words, tool) in uses {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        put.execute(params![words, &**tool])?;
    }
    let too_old = "DELETE FROM uses WHERE id <= (SELECT max(id) FROM uses) - ?1";
    connection.execute(too_old, [MAX_USES as i64]).map(drop)
}

#[derive(Clone, Debug)]
pub struct KeptResult {
    pub handle: String,
    pub text: String,
}

pub fn result(connection: &Connection, handle: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT text FROM results WHERE handle = ?1", [handle], |row| row.get(0)).optional()
}

/// Saves results, and deletes the oldest while all together exceed `limit` bytes. A handle that is in use
/// keeps its text; the results refused for that are returned.
pub fn save_results(
    connection: &Connection,
    results: &[KeptResult],
    limit: u64,
) -> rusqlite::Result<Vec<String>> {
    let mut refused = Vec::new();
    if results.is_empty() {
        return Ok(refused);
    }
    let mut put = connection
        .prepare("INSERT OR IGNORE INTO results (handle, text, bytes, kept_at) VALUES (?1, ?2, ?3, ?4)")?;
    let last: Option<i64> = connection.query_row("SELECT max(kept_at) FROM results", [], |row| row.get(0))?;
    // In the order of arrival, whatever the clock says.
    let begin = now().max(last.map_or(0, |last| last.saturating_add(1)));
    for (result, at) in results.iter().zip(begin..) {
        let added = put.execute(params![result.handle, result.text, result.text.len() as i64, at])?;
        if added == 0 && self::result(connection, &result.handle)?.as_ref() != Some(&result.text) {
            refused.push(result.handle.clone());
        }
    }
    let too_old = "DELETE FROM results WHERE handle IN (
        SELECT handle FROM (SELECT handle, sum(bytes) OVER (ORDER BY kept_at DESC) AS newer FROM results)
        WHERE newer > ?1)";
    connection.execute(too_old, [i64::try_from(limit).unwrap_or(i64::MAX)]).map(|_| refused)
}

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

const PIN_COLUMNS: &str = "server, tool, accepted, accepted_hash, seen, seen_hash";

pub fn pins(connection: &Connection) -> rusqlite::Result<Vec<StoredPin>> {
    let mut query = connection.prepare(&format!("SELECT {PIN_COLUMNS} FROM pins ORDER BY server, tool"))?;
    query.query_map([], pin)?.collect()
}

pub fn stored_pin(connection: &Connection, server: &str, tool: &str) -> rusqlite::Result<Option<StoredPin>> {
    let sql = format!("SELECT {PIN_COLUMNS} FROM pins WHERE server = ?1 AND tool = ?2");
    connection.query_row(&sql, [server, tool], pin).optional()
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

pub fn save_pins(
    connection: &Connection,
    changes: &[(Arc<str>, Arc<str>, PinChange)],
) -> rusqlite::Result<()> {
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
        connection.execute(sql, params![&**server, &**tool, text, hash, now()])?;
    }
    Ok(())
}
