//! What is read from the file when it is opened.

use super::pins::StoredPin;
use super::uses::Use;
use super::{candidates, pins, uses};
use rusqlite::Connection;
use toolhub_types::stats::{Record, StatsKey};

pub struct StoredState {
    pub stats: Vec<(StatsKey, Record)>,
    pub uses: Vec<Use>,
    pub pins: Vec<StoredPin>,
}

impl StoredState {
    pub fn load(connection: &Connection) -> rusqlite::Result<StoredState> {
        Ok(StoredState {
            stats: candidates::load(connection)?,
            uses: uses::load(connection)?,
            pins: pins::load(connection)?,
        })
    }
}
