//! The last fetched tool lists of MCP servers.

use super::time::{micros, moment, now};
use rusqlite::{Connection, OptionalExtension, params};
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

/// Keeps a list that another process has fetched later, unless its time is in the future (the clock was set back).
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
    connection.execute("DELETE FROM lists WHERE listed_at < ?1", [now - MAX_AGE]).map(drop)
}
