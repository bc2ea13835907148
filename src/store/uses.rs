//! Which tools were used for which queries. Only hashes of the query words are stored.

use rusqlite::{Connection, params};
use std::sync::Arc;

/// A hub remembers this many.
const MAX_USES: i64 = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub words: Vec<u64>,
    pub tool: Arc<str>,
}

/// The oldest first.
pub fn load(connection: &Connection) -> rusqlite::Result<Vec<Use>> {
    let mut query = connection.prepare("SELECT words, tool FROM uses ORDER BY id")?;
    let rows = query.query_map([], |row| {
        let words: Vec<u8> = row.get(0)?;
        let (words, _) = words.as_chunks::<8>();
        let tool: String = row.get(1)?;
        Ok(Use { words: words.iter().map(|word| u64::from_le_bytes(*word)).collect(), tool: Arc::from(tool) })
    })?;
    rows.collect()
}

pub fn save(connection: &Connection, uses: &[Use]) -> rusqlite::Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    let mut put = connection.prepare("INSERT INTO uses (words, tool) VALUES (?1, ?2)")?;
    for one in uses {
        let words: Vec<u8> = one.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        put.execute(params![words, &*one.tool])?;
    }
    connection.execute("DELETE FROM uses WHERE id <= (SELECT max(id) FROM uses) - ?1", [MAX_USES]).map(drop)
}
