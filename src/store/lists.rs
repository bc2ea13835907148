//! Tool lists of MCP servers, as they were fetched last.

use super::time::{micros, moment, now};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

/// A list that nobody has fetched for a year is of a server that nobody has any more.
const KEPT: i64 = 365 * 24 * 3_600 * 1_000_000;

/// Which server: its id, and a checksum of where it is, so that another one under the same id has a list of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListKey {
    pub server: Arc<str>,
    pub config: u32,
}

/// What a server listed, and who it was then.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredList {
    pub era: String,
    /// Of the protocol.
    pub protocol: String,
    /// Of the server itself, if it said one.
    pub version: Option<String>,
    pub listed_at: SystemTime,
    /// For how long the server said that it holds.
    pub ttl_ms: Option<u64>,
    /// The list, as JSON.
    pub tools: String,
}

pub fn load(connection: &Connection, key: &ListKey) -> rusqlite::Result<Option<StoredList>> {
    let mut query = connection.prepare(
        "SELECT era, protocol, version, listed_at, ttl_ms, tools FROM lists WHERE server = ?1 AND config = ?2",
    )?;
    query
        .query_row(params![&*key.server, key.config], |row| {
            Ok(StoredList {
                era: row.get(0)?,
                protocol: row.get(1)?,
                version: row.get(2)?,
                listed_at: moment(row.get(3)?),
                ttl_ms: row.get::<_, Option<i64>>(4)?.and_then(|ms| u64::try_from(ms).ok()),
                tools: row.get(5)?,
            })
        })
        .optional()
}

/// A list that another process has fetched later stays; but not one of the future, when the clock has been set back.
pub fn save(connection: &Connection, lists: &HashMap<ListKey, StoredList>) -> rusqlite::Result<()> {
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
    connection.execute("DELETE FROM lists WHERE listed_at < ?1", [now - KEPT]).map(drop)
}
