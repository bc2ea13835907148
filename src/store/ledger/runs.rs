//! Runs: a sequence of calls that can be started again. A call of a run is known by its key and by how often the same key came
//! before; what it gave is kept, and given again.

use super::owner::is_alive;
use super::rows::{self, EffectState};
use super::run_marks::RunMarks;
use crate::store::time::now;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};
use std::path::Path;

/// One call of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCall {
    pub principal: String,
    pub run: String,
    /// What makes two calls the same.
    pub key: String,
    /// How many calls with this key came before it.
    pub occurrence: u32,
    /// The tool's name, for people.
    pub tool: String,
    /// What it would run with; the ledger only compares it.
    pub definition: String,
}

/// What a run knows of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum RunMemory {
    /// It has not run: run it, under this id.
    New(String),
    /// It is over, and gave this.
    Over(Value),
    /// An earlier attempt may have happened: the id of its row.
    Unknown(String),
    /// It is over, with another definition of the tool: the row that somebody may decide about, if there is one, and both
    /// definitions.
    Changed { row: Option<String>, before: String, now: String },
    /// Another hub has the run.
    Taken,
    /// The store that had the run is gone, or further than this one: where its runs are noted.
    Lost(String),
}

/// What came of taking a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunClaim {
    Held,
    /// Another hub has it.
    Taken,
    /// The store that had it is gone, or further than this one: where its runs are noted.
    Lost(String),
}

/// Where the runs of a ledger are: nowhere but in memory, or in a file.
#[derive(Clone, Copy)]
pub struct RunPlace<'a> {
    pub path: Option<&'a Path>,
    pub marks: Option<&'a RunMarks>,
}

pub fn claim(
    connection: &Connection,
    place: RunPlace<'_>,
    (principal, run): (&str, &str),
    own: &str,
) -> rusqlite::Result<RunClaim> {
    let known: Option<(String, i64)> = connection
        .prepare_cached("SELECT owner, begun FROM runs WHERE principal = ?1 AND run = ?2")?
        .query_row([principal, run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match &known {
        Some((owner, _)) if owner == own => return Ok(RunClaim::Held),
        Some((owner, _)) if place.path.is_some_and(|path| !owner.is_empty() && is_alive(path, owner)) => {
            return Ok(RunClaim::Taken);
        }
        _ => {}
    }
    let begun = known.map(|(_, begun)| u64::try_from(begun).unwrap_or_default());
    if let Some(marks) = place.marks.filter(|marks| marks.is_lost((principal, run), begun)) {
        return Ok(RunClaim::Lost(marks.path.display().to_string()));
    }
    connection
        .prepare_cached(
            "INSERT INTO runs (principal, run, owner, claimed_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (principal, run) DO UPDATE SET owner = ?3, claimed_at = ?4",
        )?
        .execute(params![principal, run, own, now()])?;
    rows::reap(connection, place.path, own).map(|()| RunClaim::Held)
}

/// Counts a row of a run that is begun. The number never goes down, whatever is deleted of the run later.
pub fn count(connection: &Connection, principal: &str, run: &str, own: &str) -> rusqlite::Result<u64> {
    let begun: i64 = connection
        .prepare_cached(
            "INSERT INTO runs (principal, run, owner, claimed_at, begun) VALUES (?1, ?2, ?3, ?4, 1)
             ON CONFLICT (principal, run) DO UPDATE SET begun = begun + 1 RETURNING begun",
        )?
        .query_row(params![principal, run, own, now()], |row| row.get(0))?;
    Ok(u64::try_from(begun).unwrap_or_default())
}

pub fn release(connection: &Connection, principal: &str, run: &str, own: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET owner = '' WHERE principal = ?1 AND run = ?2 AND owner = ?3";
    connection.execute(sql, [principal, run, own]).map(drop)
}

/// What is known about a call; a new one is noted under `call`.
pub fn recall(
    connection: &Connection,
    place: RunPlace<'_>,
    wanted: &RunCall,
    call: &str,
    own: &str,
) -> rusqlite::Result<RunMemory> {
    match claim(connection, place, (&wanted.principal, &wanted.run), own)? {
        RunClaim::Held => {}
        RunClaim::Taken => return Ok(RunMemory::Taken),
        RunClaim::Lost(noted) => return Ok(RunMemory::Lost(noted)),
    }
    let key = params![wanted.principal, wanted.run, wanted.key, wanted.occurrence];
    let known: Option<(String, String, Option<String>)> = connection
        .prepare_cached(
            "SELECT call, definition, result FROM run_calls
             WHERE principal = ?1 AND run = ?2 AND key = ?3 AND occurrence = ?4",
        )?
        .query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((call, definition, result)) = known else {
        connection
            .prepare_cached(
                "INSERT INTO run_calls (principal, run, key, occurrence, tool, definition, call, state, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'started', ?8)",
            )?
            .execute(params![
                wanted.principal,
                wanted.run,
                wanted.key,
                wanted.occurrence,
                wanted.tool,
                wanted.definition,
                call,
                now()
            ])?;
        return Ok(RunMemory::New(call.to_owned()));
    };
    let attempts = attempts(connection, &call)?;
    let open = attempts.iter().find(|(_, state, repeatable)| !rows::is_harmless(*state, *repeatable));
    let is_changed = definition != SETTLED && definition != wanted.definition;
    Ok(match (result.and_then(|text| serde_json::from_str(&text).ok()), open) {
        (Some(_), open) if is_changed => {
            connection.execute("UPDATE run_calls SET state = 'changed' WHERE call = ?1", [&call])?;
            let row = open.map(|(row, ..)| row.clone());
            RunMemory::Changed { row, before: definition, now: wanted.definition.clone() }
        }
        (Some(result), _) => RunMemory::Over(result),
        (None, Some((row, ..))) => RunMemory::Unknown(row.clone()),
        (None, None) => {
            // It is made with the tool as it is now.
            let define = "UPDATE run_calls SET definition = ?2 WHERE call = ?1";
            connection.execute(define, [&call, &wanted.definition])?;
            RunMemory::New(call)
        }
    })
}

/// The definition of a call that somebody has decided about: the decision counts with any definition.
const SETTLED: &str = "";

/// The id of its row, its state, and whether it is repeatable.
type KnownAttempt = (String, EffectState, bool);

fn attempts(connection: &Connection, call: &str) -> rusqlite::Result<Vec<KnownAttempt>> {
    connection
        .prepare_cached("SELECT id, state, repeatable FROM ledger WHERE call = ?1 ORDER BY started_at, id")?
        .query_map([call], |row| {
            let state: String = row.get(1)?;
            Ok((row.get(0)?, EffectState::parse(&state).unwrap_or(EffectState::Unknown), row.get(2)?))
        })?
        .collect()
}

/// Keeps what a call gave. `None`: what it gave is not known, or nothing ran.
pub fn keep(connection: &Connection, call: &str, result: Option<&str>) -> rusqlite::Result<()> {
    let state = if result.is_some() { "over" } else { "started" };
    connection
        .prepare_cached("UPDATE run_calls SET result = ?2, state = ?3, changed_at = ?4 WHERE call = ?1")?
        .execute(params![call, result, state, now()])
        .map(drop)
}

/// What somebody who has looked says about an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It happened: the run goes on with a result.
    Done,
    /// It did not happen, and shall not: the run goes on with a failure.
    Failed,
    /// It did not happen: the run makes the call again.
    Again,
}

impl Settlement {
    pub fn parse(name: &str) -> Option<Settlement> {
        match name {
            "done" => Some(Settlement::Done),
            "failed" => Some(Settlement::Failed),
            "again" => Some(Settlement::Again),
            _ => None,
        }
    }
}

/// Decides about a row that is unknown, or whose tool has changed since. False if there is no such row: what is known to have
/// happened, or to have failed, stays as it is.
pub fn settle(
    connection: &Connection,
    path: Option<&Path>,
    (id, principal): (&str, Option<&str>),
    (decision, value): (Settlement, &Value),
    own: &str,
) -> rusqlite::Result<bool> {
    rows::reap(connection, path, own)?;
    let found: Option<(String, bool, String, bool)> = connection
        .prepare_cached(
            "SELECT l.call, l.state = 'unknown' OR (l.state <> 'started' AND coalesce(c.state = 'changed', 0)), l.principal,
             coalesce(c.state = 'over', 0) FROM ledger l LEFT JOIN run_calls c ON c.call = l.call WHERE l.id = ?1",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((call, is_open, owner, is_over)) = found else { return Ok(false) };
    if !is_open || principal.is_some_and(|principal| principal != owner) {
        return Ok(false);
    }
    let (state, error, kept) = match decision {
        Settlement::Done => (EffectState::Done, None, Some(json!({"success": true, "result": value}))),
        Settlement::Failed => {
            let error = "It was settled as failed.";
            (EffectState::Failed, Some(error.to_owned()), Some(json!({"success": false, "error": error})))
        }
        Settlement::Again => {
            (EffectState::Failed, Some("It was settled: the run makes the call again.".to_owned()), None)
        }
    };
    let repeatable = decision == Settlement::Again;
    rows::end(connection, &rows::EffectEnd { id: id.to_owned(), state, error, repeatable })?;
    if is_over {
        // Another candidate has answered the call.
        return Ok(true);
    }
    connection.execute("UPDATE run_calls SET definition = ?2 WHERE call = ?1", [&call, SETTLED])?;
    keep(connection, &call, kept.map(|result| result.to_string()).as_deref()).map(|()| true)
}
