//! Whole results that were truncated for a prompt, by handle.

use super::time::now;
use rusqlite::{Connection, OptionalExtension, params};

#[derive(Clone, Debug)]
pub struct KeptResult {
    pub handle: String,
    pub text: String,
}

pub fn load(connection: &Connection, handle: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare("SELECT text FROM results WHERE handle = ?1")?
        .query_row([handle], |row| row.get(0))
        .optional()
}

/// Saves results, and deletes the oldest while all together exceed `limit` bytes. A handle that is in use
/// keeps its text; the results refused for that are returned.
pub fn save(connection: &Connection, results: &[KeptResult], limit: u64) -> rusqlite::Result<Vec<String>> {
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
        if added == 0 && load(connection, &result.handle)?.as_ref() != Some(&result.text) {
            refused.push(result.handle.clone());
        }
    }
    trim(connection, limit).map(|()| refused)
}

/// Deletes the oldest until the rest fits.
pub fn trim(connection: &Connection, limit: u64) -> rusqlite::Result<()> {
    connection
        .execute(
            "DELETE FROM results WHERE handle IN (
                SELECT handle FROM (SELECT handle, sum(bytes) OVER (ORDER BY kept_at DESC) AS newer FROM results)
                WHERE newer > ?1)",
            [i64::try_from(limit).unwrap_or(i64::MAX)],
        )
        .map(drop)
}
