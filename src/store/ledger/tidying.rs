//! Deleting what is kept no longer, in slices: a slice is one short transaction of the ledger's thread while nothing waits for
//! it, so no call waits for more than one.
//!
//! A run is deleted as a whole, 30 days after its last call. Its row in `runs` stays: a program that resumes it is refused, and
//! does not begin again what has happened.

use super::rows;
use crate::time::now;
use crate::writer::OpenTables;
use rusqlite::{ToSql, params};

/// How many rows of calls without a run are kept, once they have ended.
const MOST_ROWS: u32 = 100_000;
/// How long a run is kept after its last call, and an approval after its end, in microseconds.
const KEPT: i64 = 30 * 24 * 3_600 * 1_000_000;
/// The most rows of one table that a slice deletes.
const SLICE: u32 = 200;
/// The most rows of the ledger that a slice counts.
const COUNTED: u32 = 2_000;

/// Sorts after every id.
const AFTER_ALL: &str = "\u{10FFFF}";
/// A call without a run that has ended.
const IS_SINGLE: &str = "run IS NULL AND state IN ('not_sent', 'done', 'failed')";
/// What a slice reads; the last value is the most that it deletes.
const ROWS_OF_RUN: &str = "SELECT id FROM ledger WHERE run = ?1 AND +principal = ?2 LIMIT ?3";
const CALLS_OF_RUN: &str = "SELECT call FROM run_calls WHERE run = ?1 AND principal = ?2 LIMIT ?3";
const EXPIRED_APPROVALS: &str = "SELECT id FROM approvals WHERE expires_at < ?1 LIMIT ?2";
/// A run whose time is over. What it has under way is waited for.
const OLD_RUN: &str = "SELECT principal, run FROM runs WHERE state = 'pruning'
    UNION ALL
    SELECT principal, run FROM runs WHERE state IN ('open', 'older') AND changed_at < ?1 AND NOT EXISTS (
        SELECT 1 FROM ledger l WHERE l.state = 'started' AND +l.run = runs.run AND +l.principal = runs.principal)
    LIMIT 1";

/// A pass over the rows without a run. Their ids sort by time, so it counts back from the newest to the first that is too many,
/// and deletes from the oldest up to there. No index serves it: every call with effects would pay for that.
pub enum Tidying {
    /// The rows before `from` are still to be counted, and this many of them stay.
    Counting {
        from: String,
        to_keep: u32,
    },
    /// The rows after `from`, up to `last`, go if they have ended.
    Deleting {
        from: String,
        last: String,
    },
    Over,
}

impl Default for Tidying {
    fn default() -> Self {
        Tidying::Counting { from: AFTER_ALL.to_owned(), to_keep: MOST_ROWS }
    }
}

impl Tidying {
    /// Deletes a slice. False if nothing is left to delete.
    pub fn slice(&mut self, ledger: &OpenTables<'_>) -> rusqlite::Result<bool> {
        rows::mark_orphans_unknown(ledger)?;
        let runs = delete_run(ledger)?;
        *self = match self {
            Tidying::Counting { from, to_keep } => count_back(ledger, from, *to_keep)?,
            Tidying::Deleting { from, last } => delete_singles(ledger, from, last)?,
            Tidying::Over => Tidying::Over,
        };
        let approvals = delete(ledger, ("approvals", "id"), EXPIRED_APPROVALS, &[&(now() - KEPT)])?;
        Ok(runs || approvals || !matches!(self, Tidying::Over))
    }
}

/// Counts a slice of the rows before `from`.
fn count_back(ledger: &OpenTables<'_>, from: &str, to_keep: u32) -> rusqlite::Result<Tidying> {
    let slice = format!(
        "SELECT min(id), count(*), count(*) FILTER (WHERE {IS_SINGLE})
         FROM (SELECT id, run, state FROM ledger WHERE id < ?1 ORDER BY id DESC LIMIT ?2)"
    );
    let (oldest, rows, singles): (Option<String>, u32, u32) =
        ledger.first(&slice, params![from, COUNTED])?.unwrap_or_default();
    if singles > to_keep {
        let first =
            format!("SELECT id FROM ledger WHERE id < ?1 AND {IS_SINGLE} ORDER BY id DESC LIMIT 1 OFFSET ?2");
        let last = ledger.prepare_cached(&first)?.query_row(params![from, to_keep], |row| row.get(0))?;
        return Ok(Tidying::Deleting { from: String::new(), last });
    }
    match oldest.filter(|_| rows == COUNTED) {
        Some(from) => Ok(Tidying::Counting { from, to_keep: to_keep - singles }),
        None => Ok(Tidying::Over),
    }
}

/// Deletes what has ended of the next rows after `from`.
fn delete_singles(ledger: &OpenTables<'_>, from: &str, last: &str) -> rusqlite::Result<Tidying> {
    let next = "SELECT max(id) FROM (SELECT id FROM ledger WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3)";
    let end: Option<String> =
        ledger.prepare_cached(next)?.query_row(params![from, last, SLICE], |row| row.get(0))?;
    let Some(end) = end else { return Ok(Tidying::Over) };
    let delete = format!("DELETE FROM ledger WHERE id > ?1 AND id <= ?2 AND {IS_SINGLE}");
    ledger.run(&delete, [from, &end])?;
    Ok(Tidying::Deleting { from: end, last: last.to_owned() })
}

/// Deletes a slice of a run whose time is over.
fn delete_run(ledger: &OpenTables<'_>) -> rusqlite::Result<bool> {
    let found: Option<(String, String)> = ledger.first(OLD_RUN, [now() - KEPT])?;
    let Some((principal, run)) = found else { return Ok(false) };
    let rows = delete(ledger, ("ledger", "id"), ROWS_OF_RUN, &[&run, &principal])?;
    let calls = delete(ledger, ("run_calls", "call"), CALLS_OF_RUN, &[&run, &principal])?;
    let state = if rows || calls { "pruning" } else { "pruned" };
    let sql = "UPDATE runs SET state = ?3, owner = '' WHERE principal = ?1 AND run = ?2";
    ledger.run(sql, [&*principal, &run, state]).map(|_| true)
}

/// Deletes a slice of the rows that `found` selects. False if these were the last.
fn delete(
    ledger: &OpenTables<'_>,
    (table, column): (&str, &str),
    found: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<bool> {
    let values: Vec<&dyn ToSql> = values.iter().copied().chain([&SLICE as &dyn ToSql]).collect();
    let sql = format!("DELETE FROM {table} WHERE {column} IN ({found})");
    Ok(ledger.run(&sql, values.as_slice())? >= SLICE as usize)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::schema;
    use rusqlite::Connection;

    fn file() -> Connection {
        let mut file = Connection::open_in_memory().unwrap();
        schema::migrate(&mut file, schema::STEPS).unwrap();
        file
    }

    fn add(file: &Connection, number: u32, run: Option<&str>, state: &str) {
        file.prepare_cached(
            "INSERT INTO ledger (id, run, call, principal, tool, source, server, definition, arguments, state, owner, started_at)
             VALUES (?1, ?2, ?1, '', 'pay', 'tools', '', '', '', ?3, '', ?4)",
        )
        .unwrap()
        .execute(params![format!("{number:08}"), run, state, number])
        .unwrap();
        if let Some(run) = run {
            file.execute(
                "INSERT INTO run_calls (principal, run, key, occurrence, tool, definition, call, state)
                 VALUES ('', ?2, ?1, 0, 'pay', '', ?1, 'over')",
                params![format!("{number:08}"), run],
            )
            .unwrap();
        }
    }

    fn begin(file: &Connection, run: &str, days_ago: i64) {
        let changed = now() - days_ago * 24 * 3_600 * 1_000_000;
        file.execute(
            "INSERT INTO runs (principal, run, owner, claimed_at, changed_at) VALUES ('', ?1, '', 0, ?2)",
            params![run, changed],
        )
        .unwrap();
    }

    fn count(file: &Connection, sql: &str) -> u32 {
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The largest number of rows that one slice has deleted.
    fn tidy(file: &Connection, most_rows: u32) -> u32 {
        let (mut tidying, mut largest) =
            (Tidying::Counting { from: AFTER_ALL.to_owned(), to_keep: most_rows }, 0);
        loop {
            let before = count(file, "SELECT count(*) FROM ledger");
            let has_more = tidying.slice(&OpenTables { connection: file, path: None, own: "" }).unwrap();
            largest = largest.max(before - count(file, "SELECT count(*) FROM ledger"));
            if !has_more {
                return largest;
            }
        }
    }

    #[test]
    fn a_run_goes_as_a_whole_with_all_its_rows_and_leaves_its_name() {
        let file = file();
        begin(&file, "old", 31);
        begin(&file, "used", 29);
        begin(&file, "busy", 31);
        (0..1_000).for_each(|number| {
            add(&file, number, Some("old"), if number % 2 == 0 { "done" } else { "unknown" })
        });
        (1_000..1_300).for_each(|number| add(&file, number, Some("used"), "done"));
        add(&file, 1_300, Some("busy"), "started");
        assert!(tidy(&file, 0) <= SLICE);
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE run = 'old'"), 0);
        assert_eq!(count(&file, "SELECT count(*) FROM run_calls WHERE run = 'old'"), 0);
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE run IN ('used', 'busy')"), 301);
        assert_eq!(count(&file, "SELECT count(*) FROM run_calls"), 301);
        assert_eq!(count(&file, "SELECT count(*) FROM runs WHERE state = 'pruned' AND run = 'old'"), 1);
        assert_eq!(count(&file, "SELECT count(*) FROM runs WHERE state = 'open'"), 2);
    }

    #[test]
    fn the_newest_rows_without_a_run_stay_and_so_does_what_is_open() {
        let file = file();
        (0..2_000)
            .for_each(|number| add(&file, number, None, if number % 10 == 0 { "unknown" } else { "done" }));
        let largest = tidy(&file, 500);
        assert!(0 < largest && largest <= SLICE, "{largest}");
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE state = 'unknown'"), 200);
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE state = 'done'"), 500);
        assert_eq!(count(&file, "SELECT CAST(min(id) AS INTEGER) FROM ledger WHERE state = 'done'"), 1_445);
    }

    #[test]
    fn rows_are_counted_over_many_slices_and_past_those_of_runs() {
        let file = file();
        begin(&file, "used", 0);
        let kept = COUNTED * 2 + 17;
        let all = kept * 2;
        (0..all).for_each(|number| add(&file, number, (number % 2 == 0).then_some("used"), "done"));
        tidy(&file, kept);
        assert_eq!(count(&file, "SELECT count(*) FROM ledger"), all);
        let largest = tidy(&file, kept - 1_000);
        assert!(0 < largest && largest <= SLICE, "{largest}");
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE run IS NULL"), kept - 1_000);
        assert_eq!(count(&file, "SELECT CAST(min(id) AS INTEGER) FROM ledger WHERE run IS NULL"), 2_001);
        assert_eq!(count(&file, "SELECT count(*) FROM ledger WHERE run = 'used'"), kept);
    }

    #[test]
    fn no_statement_of_a_slice_reads_a_whole_table() {
        let file = file();
        for (sql, values) in [(OLD_RUN, 1), (ROWS_OF_RUN, 3), (CALLS_OF_RUN, 3), (EXPIRED_APPROVALS, 2)] {
            let mut steps = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values: Vec<i64> = (0..values).collect();
            let plan: Vec<String> = steps
                .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let reads = |step: &&String| step.starts_with("SCAN") || step.starts_with("SEARCH");
            let is_direct = |step: &String| step.contains("INDEX") || step.contains("PRIMARY KEY");
            assert!(plan.iter().filter(reads).all(is_direct), "{sql}: {plan:?}");
            assert!(!plan.concat().contains("TEMP B-TREE"), "{sql} sorts: {plan:?}");
        }
    }
}
