//! The statistics of candidates.

use super::time::{micros, moment, now};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_types::error::ErrorKind;
use toolhub_types::model::Source;
use toolhub_types::stats::{FailureCounts, LatencySketch, Record, RunningAverage, SavedCooldown, StatsKey};

/// The number of candidates in the file; those saved longest ago are deleted first.
const MAX_CANDIDATES: i64 = 100_000;

const COLUMNS: &str = "tool, source, server, calls, successes, failures, success_rate, latency_ms, sketch, \
                       last_success, led_at, failures_in_a_row, rests, rests_until, variant";

pub fn load(connection: &Connection) -> rusqlite::Result<Vec<(StatsKey, Record)>> {
    let mut query = connection.prepare(&format!("SELECT {COLUMNS} FROM candidates"))?;
    let rows = query.query_map([], |row| {
        let (tool, source, server): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let server = Some(server).filter(|server| !server.is_empty()).map(Arc::from);
        let variant: u32 = row.get(14)?;
        let key = Source::parse(&source);
        let key = key.map(|source| StatsKey { tool: Arc::from(tool), source, server, variant });
        Ok((key, record(row)?))
    })?;
    // An unknown source comes from a later version: skipped here, kept in the file.
    rows.filter_map(|row| row.map(|(key, record)| key.map(|key| (key, record))).transpose()).collect()
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let time = |column: usize| row.get::<_, Option<i64>>(column).map(|at| at.map(moment));
    let rate = Some(row.get::<_, f64>(6)?).filter(|rate| rate.is_finite()).unwrap_or(1.0);
    let latency = row.get::<_, Option<f64>>(7)?.filter(|ms| ms.is_finite() && *ms >= 0.0);
    Ok(Record {
        calls: count(row.get(3)?),
        successes: count(row.get(4)?),
        failures: failures(&row.get::<_, String>(5)?),
        failure_rate: RunningAverage::kept(1.0 - rate.clamp(0.0, 1.0)),
        latency_ms: latency.map(RunningAverage::kept).unwrap_or_default(),
        sketch: LatencySketch::from_bytes(&row.get::<_, Vec<u8>>(8)?),
        last_success: time(9)?,
        preferred_since: time(10)?,
        cooldown: SavedCooldown {
            failures_in_a_row: u32::try_from(row.get::<_, i64>(11)?).unwrap_or(0),
            rests: u32::try_from(row.get::<_, i64>(12)?).unwrap_or(0),
            until: time(13)?,
        },
    })
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// By name, so that a missing or additional kind does no harm.
fn failures(text: &str) -> FailureCounts {
    let by_name: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let mut counts = [0; ErrorKind::ALL.len()];
    for kind in ErrorKind::ALL {
        counts[*kind as usize] = by_name.get(kind.name()).and_then(Value::as_u64).unwrap_or(0);
    }
    counts
}

fn failures_text(counts: &FailureCounts) -> String {
    let seen = ErrorKind::ALL.iter().filter(|kind| counts[**kind as usize] > 0);
    let by_name: Map<String, Value> =
        seen.map(|kind| (kind.name().to_owned(), counts[*kind as usize].into())).collect();
    Value::Object(by_name).to_string()
}

/// Adds new calls to the file; returns the statistics that it has then.
pub fn save(
    connection: &Connection,
    learnt: &HashMap<StatsKey, Record>,
) -> rusqlite::Result<Vec<(StatsKey, Record)>> {
    let (mut saved, mut new) = (Vec::with_capacity(learnt.len()), false);
    if learnt.is_empty() {
        return Ok(saved);
    }
    let mut old = connection.prepare(&format!(
        "SELECT {COLUMNS} FROM candidates WHERE tool = ?1 AND source = ?2 AND server = ?3 AND variant = ?4"
    ))?;
    let mut put = connection.prepare(&format!(
        "INSERT OR REPLACE INTO candidates ({COLUMNS}, saved_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
    ))?;
    let time = |at: Option<SystemTime>| at.map(micros);
    for (key, delta) in learnt {
        let (source, server) = (key.source.name(), key.server.as_deref().unwrap_or_default());
        let known = old.query_row(params![&*key.tool, source, server, key.variant], record).optional()?;
        new |= known.is_none();
        let mut record = known.unwrap_or_default();
        record.then(delta);
        put.execute(params![
            &*key.tool,
            source,
            server,
            record.calls as i64,
            record.successes as i64,
            failures_text(&record.failures),
            record.success_rate(),
            record.latency_ms(),
            record.sketch.to_bytes(),
            time(record.last_success),
            time(record.preferred_since),
            i64::from(record.cooldown.failures_in_a_row),
            i64::from(record.cooldown.rests),
            time(record.cooldown.until),
            key.variant,
            now(),
        ])?;
        saved.push((key.clone(), record));
    }
    if new {
        tidy(connection, MAX_CANDIDATES)?;
    }
    Ok(saved)
}

/// Deletes the oldest if there are more than `most`.
fn tidy(connection: &Connection, most: i64) -> rusqlite::Result<()> {
    let all: i64 = connection.query_row("SELECT count(*) FROM candidates", [], |row| row.get(0))?;
    if all > most {
        connection.execute(
            "DELETE FROM candidates WHERE (tool, source, server, variant) IN (
                SELECT tool, source, server, variant FROM candidates ORDER BY saved_at LIMIT ?1)",
            [all - most],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::schema;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut file = Connection::open_in_memory().unwrap();
        schema::migrate(&mut file, schema::STEPS).unwrap();
        for tool in ["old", "new", "newest"] {
            let key = StatsKey { tool: Arc::from(tool), source: Source::Tools, server: None, variant: 1 };
            save(&file, &HashMap::from([(key, Record::default())])).unwrap();
            file.execute("UPDATE candidates SET saved_at = saved_at - 1000000", []).unwrap();
        }
        tidy(&file, 2).unwrap();
        let mut left: Vec<_> =
            load(&file).unwrap().into_iter().map(|(key, _)| key.tool.to_string()).collect();
        left.sort_unstable();
        assert_eq!(left, ["new", "newest"]);
    }
}
