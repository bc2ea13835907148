//! What was in a file that somebody has removed or renamed: whoever has it open can still read it.

use super::schema::TABLES;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// The rows of each table.
pub struct Rescued(Vec<(&'static str, Vec<Vec<Value>>)>);

impl Rescued {
    pub fn read(connection: &Connection) -> rusqlite::Result<Rescued> {
        // As it is at one moment, whoever else still writes to it.
        let _look = connection.unchecked_transaction()?;
        let tables = TABLES.iter().map(|table| rows(connection, table).map(|rows| (*table, rows)));
        tables.collect::<rusqlite::Result<_>>().map(Rescued)
    }

    /// What the new file has already stays: another process may have been quicker, and have learnt more since.
    pub fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        for (table, rows) in &self.0 {
            let Some(columns) = rows.first().map(Vec::len) else { continue };
            let marks = vec!["?"; columns].join(", ");
            let mut put = connection.prepare(&format!("INSERT OR IGNORE INTO {table} VALUES ({marks})"))?;
            for row in rows {
                put.execute(params_from_iter(row))?;
            }
        }
        Ok(())
    }
}

fn rows(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut query = connection.prepare(&format!("SELECT * FROM {table}"))?;
    let columns = query.column_count();
    let rows = query.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
    rows.collect()
}
