//! Runs: a sequence of calls that can be started again. A call of a run is known by its key and by how often the same key came
//! before; what it gave is kept, and given again.
//!
//! | state of a call | what is kept | when the program makes it again |
//! |---|---|---|
//! | `started` | nothing yet | it is made, unless one of its rows may have happened |
//! | `told` | why it was not made | made; told again if a later equal call was made, because that was the program's next try; if it was a question, and a later equal call used the answer, that one's result |
//! | `unknown` | what the program was told | somebody decides; then like `told` |
//! | `over` | its result | the result |
//! | `changed` | its result | refused: the tool is another one now |

use super::owner::is_alive;
use super::rows::{self, EffectState};
use crate::file::older_copy;
use crate::identity;
use crate::time::now;
use crate::writer::OpenTables;
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};
use toolhub_text::message::{Join, Message};
use toolhub_text::{message, near_names};
use toolhub_types::error::clip;

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
    /// It was asked about, and made once that was answered: the number of the call that was made, and what it gave.
    Answered(u32, Value),
    /// Somebody has decided about an equal call before it, by its number, which this one repeats: the result.
    Settled(u32, Value),
    /// An earlier attempt may have happened: the id of its row.
    Unknown(String),
    /// It is over, or an equal effect before it is, with another definition of the tool: the row that somebody may decide about, if
    /// there is one, and both definitions.
    Changed { row: Option<String>, before: String, now: String },
    /// The run cannot be worked on, for this reason.
    Refused(Message),
}

/// The equal calls before a call that count for it, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct CallsBefore {
    /// Those that have ended without a result.
    pub open: Vec<u32>,
    /// The last effect, if it was made with another definition.
    pub made_otherwise: Option<u32>,
}

/// What came of taking a run; the error says why it cannot be worked on.
pub type RunClaim = Result<(), Message>;

/// How old the time of the last call of a run may be, in microseconds: it is not written again for each call.
const LAST_CALL: i64 = 60 * 1_000_000;
/// The most names of runs that are looked through for one that was meant.
const MOST_NAMES: u32 = 1_000;
/// The most names that a sentence offers.
const MOST_NEAR: usize = 3;

/// Takes a run: for a call, which may be its first one, or, if it `resumes`, one that was begun.
pub fn claim(
    ledger: &OpenTables<'_>,
    (principal, run): (&str, &str),
    resumes: bool,
) -> rusqlite::Result<RunClaim> {
    let sql = "SELECT owner, state, changed_at FROM runs WHERE principal = ?1 AND run = ?2";
    let known: Option<(String, String, i64)> = ledger.first(sql, [principal, run])?;
    let is_new = known.is_none();
    let (owner, state, changed_at) = known.unwrap_or_else(|| (String::new(), "open".to_owned(), 0));
    if let Some(refusal) = refusal(ledger, run, (&owner, &state))? {
        return Ok(Err(refusal));
    }
    if is_new && resumes {
        return never_begun(ledger, principal, run).map(Err);
    }
    let is_own = owner == ledger.own;
    if is_own && now() - changed_at < LAST_CALL {
        return Ok(Ok(()));
    }
    ledger.run(
        "INSERT INTO runs (principal, run, owner, claimed_at, changed_at) VALUES (?1, ?2, ?3, ?4, ?4)
         ON CONFLICT (principal, run) DO UPDATE SET owner = ?3, claimed_at = ?4, changed_at = ?4",
        params![principal, run, ledger.own, now()],
    )?;
    match is_own {
        true => Ok(Ok(())),
        false => rows::mark_orphans_unknown(ledger).map(Ok),
    }
}

/// Why nobody, or not this owner, may work on a run; an empty owner is none.
fn refusal(
    ledger: &OpenTables<'_>,
    run: &str,
    (owner, state): (&str, &str),
) -> rusqlite::Result<Option<Message>> {
    let (path, name) = (ledger.path, clip(run));
    let lost = || {
        message!(
            "the store of run '{}' was lost, damaged or replaced by an older copy, so what the run has done is not known. \
             Look at what has happened, accept the store with 'toolhub store accept --store {}', and use another run.",
            name,
            path.map(|path| path.display().to_string()).unwrap_or_default()
        )
    };
    Ok(Some(match state {
        "older" => match path.and_then(older_copy) {
            Some(copy) => message!(
                "run '{}' was begun with an older version of toolhub. Finish it with that version and the copy of its store \
                 in '{}', or settle what is unknown in it and use another run.",
                name,
                copy.display()
            ),
            None => message!(
                "run '{}' was begun with an older version of toolhub. Settle what is unknown in it, and use another run.",
                name
            ),
        },
        "lost" => lost(),
        "open" if owner == ledger.own => return Ok(None),
        "open" if path.is_some_and(|path| !owner.is_empty() && is_alive(path, owner)) => message!(
            "another hub, in this process or another one, is working on run '{}'. Close it first, or use one hub.",
            name
        ),
        "open" => match path {
            Some(path) if identity::is_doubted(path, ledger)? => lost(),
            _ => return Ok(None),
        },
        // A word of a later version says nothing that allows the run.
        _ => message!(
            "the last call of run '{}' was more than 30 days ago, so what the run has done is not kept any more. Use \
             another run.",
            name
        ),
    }))
}

/// Why a run that nobody has begun cannot be resumed, with the names that may have been meant.
fn never_begun(ledger: &OpenTables<'_>, principal: &str, run: &str) -> rusqlite::Result<Message> {
    let sql =
        "SELECT run FROM runs WHERE principal = ?1 AND state = 'open' ORDER BY changed_at DESC LIMIT ?2";
    let mut names = ledger.prepare(sql)?;
    let names: Vec<String> =
        names.query_map(params![principal, MOST_NAMES], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(match near_names(run, names.iter().map(|name| (name.as_str(), name)), MOST_NEAR).as_slice() {
        [] => message!("run '{}' was never begun.", clip(run)),
        near => {
            let near = near.iter().map(|name| format!("'{}'", clip(name)).into()).collect();
            message!("run '{}' was never begun; did you mean {}?", clip(run), Message::list(near, Join::Or))
        }
    })
}

/// Notes the time of a row of a run, which was claimed before.
pub fn touch(ledger: &OpenTables<'_>, principal: &str, run: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET changed_at = ?3 WHERE principal = ?1 AND run = ?2";
    ledger.run(sql, params![principal, run, now()]).map(drop)
}

pub fn release(ledger: &OpenTables<'_>, principal: &str, run: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE runs SET owner = '' WHERE principal = ?1 AND run = ?2 AND owner = ?3";
    ledger.execute(sql, [principal, run, ledger.own]).map(drop)
}

/// What is known about a call, and about those before it; a new one is noted under `call`.
pub fn recall(
    ledger: &OpenTables<'_>,
    (wanted, before): (&RunCall, &CallsBefore),
    call: &str,
) -> rusqlite::Result<RunMemory> {
    let name = (wanted.principal.as_str(), wanted.run.as_str());
    if let Err(refusal) = claim(ledger, name, false)? {
        return Ok(RunMemory::Refused(refusal));
    }
    let own = known_call(ledger, wanted, wanted.occurrence)?;
    let answered = made_with_answer(ledger, wanted, own.as_ref())?;
    let made = answered.map(|number| known_call(ledger, wanted, number)).transpose()?.flatten();
    if let Some(known) = made.as_ref().or(own.as_ref()) {
        match (&known.result, &known.open) {
            (Some(_), open) if known.definition != SETTLED && known.definition != wanted.definition => {
                ledger.execute("UPDATE run_calls SET state = 'changed' WHERE call = ?1", [&known.call])?;
                let (row, before) = (open.clone(), known.definition.clone());
                return Ok(RunMemory::Changed { row, before, now: wanted.definition.clone() });
            }
            (Some(result), _) => {
                let result = result.clone();
                return Ok(match answered {
                    Some(number) => RunMemory::Answered(number, result),
                    None => RunMemory::Over(result),
                });
            }
            (None, Some(row)) => return Ok(RunMemory::Unknown(row.clone())),
            (None, None) => {}
        }
        if let Some(told) = &known.told
            && made_later(ledger, wanted)?.is_some()
        {
            return Ok(RunMemory::Over(told.clone()));
        }
    }
    for number in &before.open {
        let Some(one) = known_call(ledger, wanted, *number)? else { continue };
        match (one.result, one.open) {
            (Some(result), _) => {
                let settled = RunCall { definition: SETTLED.to_owned(), ..wanted.clone() };
                write(ledger, &settled, call, ("over", Some(&result.to_string())))?;
                return Ok(RunMemory::Settled(*number, result));
            }
            (None, Some(row)) => return Ok(RunMemory::Unknown(row)),
            (None, None) => {}
        }
    }
    if let Some(number) = before.made_otherwise
        && let Some(made) = known_call(ledger, wanted, number)?.filter(|made| made.definition != SETTLED)
    {
        let (before, now) = (made.definition, wanted.definition.clone());
        return Ok(RunMemory::Changed { row: None, before, now });
    }
    // It is made with the tool as it is now.
    write(ledger, wanted, call, ("started", None))?;
    Ok(RunMemory::New(own.map_or_else(|| call.to_owned(), |own| own.call)))
}

/// A call of a run as the file knows it.
struct KnownCall {
    call: String,
    definition: String,
    /// What it gave, if it is over.
    result: Option<Value>,
    /// What the program was told instead.
    told: Option<Value>,
    /// The first of its rows that may have happened.
    open: Option<String>,
}

fn known_call(
    ledger: &OpenTables<'_>,
    wanted: &RunCall,
    occurrence: u32,
) -> rusqlite::Result<Option<KnownCall>> {
    // A row is harmless as [`rows::EffectEnd::is_harmless`] says.
    let mut query = ledger.prepare_cached(
        "SELECT call, definition, state, result, (
            SELECT min(id) FROM ledger l WHERE l.call = run_calls.call AND l.run IS NOT NULL
            AND NOT (l.state = 'not_sent' OR (l.state = 'failed' AND l.repeatable)))
         FROM run_calls WHERE principal = ?1 AND run = ?2 AND key = ?3 AND occurrence = ?4",
    )?;
    let known = query.query_row(params![wanted.principal, wanted.run, wanted.key, occurrence], |row| {
        let kept = row.get::<_, Option<String>>(3)?.and_then(|text| serde_json::from_str(&text).ok());
        let is_told = matches!(&*row.get::<_, String>(2)?, "told" | "unknown");
        let (result, told) = if is_told { (None, kept) } else { (kept, None) };
        Ok(KnownCall { call: row.get(0)?, definition: row.get(1)?, result, told, open: row.get(4)? })
    });
    known.optional()
}

/// The number of the call that was made once the question about this one was answered.
fn made_with_answer(
    ledger: &OpenTables<'_>,
    wanted: &RunCall,
    own: Option<&KnownCall>,
) -> rusqlite::Result<Option<u32>> {
    let Some(id) = own.and_then(|own| own.told.as_ref()?.get("paused")?.as_str()) else { return Ok(None) };
    let sql = "SELECT 1 FROM approvals WHERE id = ?1 AND state = 'used'";
    if ledger.prepare_cached(sql)?.exists([id])? { made_later(ledger, wanted) } else { Ok(None) }
}

/// The number of the next equal call that was made, or may have been.
fn made_later(ledger: &OpenTables<'_>, call: &RunCall) -> rusqlite::Result<Option<u32>> {
    let later: Option<(Option<u32>,)> = ledger.first(
        "SELECT min(occurrence) FROM run_calls
         WHERE principal = ?1 AND run = ?2 AND key = ?3 AND occurrence > ?4 AND state <> 'told'",
        params![call.principal, call.run, call.key, call.occurrence],
    )?;
    Ok(later.and_then(|(later,)| later))
}

/// Writes a call of a run: a new one under this id.
fn write(
    ledger: &OpenTables<'_>,
    call: &RunCall,
    id: &str,
    (state, kept): (&str, Option<&str>),
) -> rusqlite::Result<()> {
    let RunCall { principal, run, key, occurrence, tool, definition } = call;
    let sql = "INSERT INTO run_calls (principal, run, key, occurrence, tool, definition, call, state, result)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (principal, run, key, occurrence) DO UPDATE SET definition = ?6, state = ?8, result = ?9";
    ledger.run(sql, params![principal, run, key, occurrence, tool, definition, id, state, kept]).map(drop)
}

/// Keeps what the program was told of a call that has no result; nothing, if somebody else has the run.
pub fn tell(ledger: &OpenTables<'_>, (told, answer): (&RunCall, &str), call: &str) -> rusqlite::Result<()> {
    let name = (told.principal.as_str(), told.run.as_str());
    if claim(ledger, name, false)?.is_err() {
        return Ok(());
    }
    match known_call(ledger, told, told.occurrence)? {
        Some(KnownCall { result: Some(_), .. }) => Ok(()),
        known => {
            let is_open = known.as_ref().is_some_and(|known| known.open.is_some());
            let definition = known.map_or_else(String::new, |known| known.definition);
            let state = if is_open { "unknown" } else { "told" };
            write(ledger, &RunCall { definition, ..told.clone() }, call, (state, Some(answer)))
        }
    }
}

/// The definition of a call that somebody has decided about: the decision counts with any definition.
const SETTLED: &str = "";

/// Keeps what a call gave.
pub fn keep(ledger: &OpenTables<'_>, call: &str, result: &str) -> rusqlite::Result<()> {
    ledger.run("UPDATE run_calls SET result = ?2, state = 'over' WHERE call = ?1", [call, result]).map(drop)
}

toolhub_types::named! {
    /// What somebody who has looked says about an effect.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RowDecision {
        /// It happened: the run goes on with a result.
        Done = "done",
        /// It did not happen, and shall not: the run goes on with a failure.
        Failed = "failed",
        /// It did not happen: the run makes the call again.
        Retry = "again",
    }
}

/// Decides about a row that is unknown, or whose tool has changed since. False if there is no such row: what is known to have
/// happened, or to have failed, stays as it is.
pub fn settle(
    ledger: &OpenTables<'_>,
    (id, principal): (&str, Option<&str>),
    (decision, value): (RowDecision, &Value),
) -> rusqlite::Result<bool> {
    rows::mark_orphans_unknown(ledger)?;
    let found: Option<(String, bool, String, bool, Option<String>)> = ledger.first(
        "SELECT l.call, l.state = 'unknown' OR (l.state <> 'started' AND coalesce(c.state = 'changed', 0)), l.principal,
         coalesce(c.state = 'over', 0), l.run FROM ledger l LEFT JOIN run_calls c ON c.call = l.call WHERE l.id = ?1",
        [id],
    )?;
    let Some((call, is_open, owner, is_over, run)) = found else { return Ok(false) };
    if !is_open || principal.is_some_and(|principal| principal != owner) {
        return Ok(false);
    }
    let (state, error, kept) = match decision {
        RowDecision::Done => (EffectState::Done, None, Some(json!({"success": true, "result": value}))),
        RowDecision::Failed => {
            let error = "It was settled as failed.";
            (EffectState::Failed, Some(error.to_owned()), Some(json!({"success": false, "error": error})))
        }
        RowDecision::Retry => {
            (EffectState::Failed, Some("It was settled: the run makes the call again.".to_owned()), None)
        }
    };
    let repeatable = decision == RowDecision::Retry;
    rows::end(ledger, &rows::EffectEnd { id: id.to_owned(), state, error, repeatable })?;
    if let Some(run) = &run {
        touch(ledger, &owner, run)?;
    }
    if is_over {
        // Another candidate has answered the call.
        return Ok(true);
    }
    ledger.execute("UPDATE run_calls SET definition = ?2 WHERE call = ?1", [&call, SETTLED])?;
    match kept {
        Some(result) => keep(ledger, &call, &result.to_string())?,
        // What the program was told stays.
        None => {
            let sql =
                "UPDATE run_calls SET state = 'started', result = NULL WHERE call = ?1 AND state = 'changed'";
            ledger.run(sql, [&call])?;
        }
    }
    Ok(true)
}
