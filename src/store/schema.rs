//! The tables, and the migration of older files.
//!
//! To change the tables, add a step: the number of steps is the version of a file.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// "thub". Marks a file as ours, so that the database of another program is never touched.
pub const APPLICATION: i32 = 0x7468_7562;

pub const STEPS: &[&str] = &[
    // 1 to 3: formats that no file has.
    "",
    "",
    "",
    // 4: the first one. Times are microseconds since 1970; an empty server means none, an empty principal the owner of the hub.
    // Tables are clustered by key, so undetected damage cannot lead from one key to the row of another.
    "CREATE TABLE lists (
        server TEXT NOT NULL, config INTEGER NOT NULL, era TEXT NOT NULL, protocol TEXT NOT NULL, version TEXT,
        listed_at INTEGER NOT NULL, ttl_ms INTEGER, tools TEXT NOT NULL, PRIMARY KEY (server, config)
     ) WITHOUT ROWID;
     CREATE TABLE candidates (
        tool TEXT NOT NULL, source TEXT NOT NULL, server TEXT NOT NULL, variant INTEGER NOT NULL, calls INTEGER NOT NULL,
        successes INTEGER NOT NULL, failures TEXT NOT NULL, success_rate REAL NOT NULL, latency_ms REAL,
        sketch BLOB NOT NULL, last_success INTEGER, led_at INTEGER, failures_in_a_row INTEGER NOT NULL,
        rests INTEGER NOT NULL, rests_until INTEGER, saved_at INTEGER NOT NULL,
        PRIMARY KEY (tool, source, server, variant)
     ) WITHOUT ROWID;
     CREATE TABLE uses (id INTEGER PRIMARY KEY, words BLOB NOT NULL, tool TEXT NOT NULL);
     CREATE TABLE results (
        handle TEXT PRIMARY KEY, bytes INTEGER NOT NULL, kept_at INTEGER NOT NULL, text TEXT NOT NULL
     ) WITHOUT ROWID;
     CREATE TABLE pins (
        server TEXT NOT NULL, tool TEXT NOT NULL, accepted TEXT NOT NULL, accepted_hash TEXT NOT NULL,
        seen TEXT, seen_hash TEXT, changed_at INTEGER NOT NULL, PRIMARY KEY (server, tool)
     ) WITHOUT ROWID;
     CREATE TABLE ledger (
        id TEXT PRIMARY KEY, run TEXT, call TEXT NOT NULL, principal TEXT NOT NULL, tool TEXT NOT NULL,
        source TEXT NOT NULL, server TEXT NOT NULL, definition TEXT NOT NULL, arguments TEXT NOT NULL,
        state TEXT NOT NULL, error TEXT, owner TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER
     ) WITHOUT ROWID;
     CREATE INDEX ledger_calls ON ledger (call);
     CREATE INDEX ledger_open ON ledger (state, owner);
     CREATE INDEX ledger_times ON ledger (started_at);
     CREATE TABLE run_calls (
        principal TEXT NOT NULL, run TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL,
        occurrence INTEGER NOT NULL, definition TEXT NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, result TEXT,
        changed_at INTEGER NOT NULL, PRIMARY KEY (principal, run, tool, arguments, occurrence)
     ) WITHOUT ROWID;
     CREATE INDEX run_calls_calls ON run_calls (call);
     CREATE TABLE runs (
        principal TEXT NOT NULL, run TEXT NOT NULL, owner TEXT NOT NULL, claimed_at INTEGER NOT NULL,
        begun INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (principal, run)
     ) WITHOUT ROWID;
     CREATE TABLE approvals (
        id TEXT PRIMARY KEY, digest TEXT NOT NULL, principal TEXT NOT NULL, run TEXT, tool TEXT NOT NULL,
        shown TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, asked_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
        decided_at INTEGER
     ) WITHOUT ROWID;
     CREATE INDEX approvals_digest ON approvals (digest, state);",
    // 5: states are columns, a call of a run has one key, and runs are kept and pruned as a whole. Ids of rows sort by time, so
    // each index is in the order in which rows are listed. A run of an older version has keys that no call has any more: it is
    // kept to be read and settled, and never continued; nor is an approval that was asked for with another identity.
    "DROP INDEX ledger_calls;
     DROP INDEX ledger_open;
     DROP INDEX ledger_times;
     ALTER TABLE ledger ADD COLUMN repeatable INTEGER NOT NULL DEFAULT 0;
     CREATE INDEX ledger_states ON ledger (state);
     CREATE INDEX ledger_tools ON ledger (tool);
     CREATE INDEX ledger_principals ON ledger (principal) WHERE principal <> '';
     CREATE INDEX ledger_runs ON ledger (run) WHERE run IS NOT NULL;
     CREATE INDEX ledger_calls ON ledger (call) WHERE run IS NOT NULL;
     CREATE INDEX ledger_single ON ledger (id) WHERE run IS NULL AND state IN ('not_sent', 'done', 'failed');
     ALTER TABLE runs ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
     ALTER TABLE runs ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
     UPDATE runs SET state = 'older', changed_at = max(claimed_at, coalesce((
        SELECT max(c.changed_at) FROM run_calls c WHERE c.principal = runs.principal AND c.run = runs.run), 0));
     CREATE INDEX runs_states ON runs (state, changed_at);
     CREATE TABLE calls (
        principal TEXT NOT NULL, run TEXT NOT NULL, key TEXT NOT NULL, occurrence INTEGER NOT NULL, tool TEXT NOT NULL,
        definition TEXT NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, result TEXT,
        PRIMARY KEY (principal, run, key, occurrence)
     ) WITHOUT ROWID;
     INSERT INTO calls SELECT principal, run, tool || char(10) || arguments, occurrence, tool, definition, call, state, result
        FROM run_calls;
     DROP TABLE run_calls;
     ALTER TABLE calls RENAME TO run_calls;
     CREATE INDEX run_calls_calls ON run_calls (call);
     UPDATE approvals SET state = 'older' WHERE state <> 'used';
     CREATE INDEX approvals_states ON approvals (state);
     CREATE INDEX approvals_ends ON approvals (expires_at);",
    // 6: the digest of the call's key in each row. Almost every row is done: no index has them for that.
    "ALTER TABLE ledger ADD COLUMN key TEXT;
     DROP INDEX ledger_single;
     DROP INDEX ledger_states;
     CREATE INDEX ledger_states ON ledger (state) WHERE state <> 'done';",
    // 7: the digest of a key is made in another way, and approvals are bound to values that may be secret, by keyed digests. As in
    // step 5, what was kept without is not continued.
    "CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
     UPDATE runs SET state = 'older' WHERE state = 'open';
     UPDATE approvals SET state = 'older' WHERE state <> 'used';",
    // 8: which store it is, and how many changes it has had that must not be lost.
    "CREATE TABLE store (id TEXT NOT NULL, changes INTEGER NOT NULL);
     INSERT INTO store VALUES (lower(hex(randomblob(16))), 0);
     DELETE FROM pins WHERE tool = '';",
];

/// Since this step a call has the key that it has now, and runs go on.
const KEYS: usize = 7;

#[derive(Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// At the version of these steps.
    Ready,
    /// Written by a later version, at this number.
    Newer(usize),
    /// The database of another program.
    Foreign,
}

/// Migrates the file to the version of these steps. Several processes may do so at once: one works, the others find it done.
pub fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<SchemaState> {
    // In one transaction: tables that another process creates between two reads would look like another program's.
    let look = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    if let Some(state) = state(&look, steps)? {
        return Ok(state);
    }
    drop(look);
    let work = begin(connection)?;
    if let Some(state) = state(&work, steps)? {
        return Ok(state);
    }
    for step in &steps[version(&work)?..] {
        work.execute_batch(step)?;
    }
    work.pragma_update(None, "application_id", APPLICATION)?;
    work.pragma_update(None, "user_version", steps.len() as i64)?;
    work.commit().map(|()| SchemaState::Ready)
}

/// `None` if there are steps to run.
fn state(connection: &Connection, steps: &[&str]) -> rusqlite::Result<Option<SchemaState>> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let empty = tables == 0 && version(connection)? == 0 && application == 0;
        return Ok(if empty { None } else { Some(SchemaState::Foreign) });
    }
    Ok(match version(connection)? {
        newer if newer > steps.len() => Some(SchemaState::Newer(newer)),
        same if same == steps.len() => Some(SchemaState::Ready),
        _ => None,
    })
}

/// The version of a file with runs whose calls have other keys.
pub fn older_runs(connection: &Connection) -> rusqlite::Result<Option<usize>> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'";
    let is_ours =
        connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))? == APPLICATION;
    let version = version(connection)?;
    if !is_ours || version >= KEYS || connection.query_row(tables, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let has_runs: bool = connection.query_row("SELECT EXISTS (SELECT 1 FROM runs)", [], |row| row.get(0))?;
    Ok(has_runs.then_some(version))
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

/// A transaction that takes the write lock at once, so that nothing changes between its reads and its writes.
pub fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    const TABLES: [&str; 11] = [
        "lists",
        "candidates",
        "uses",
        "results",
        "pins",
        "ledger",
        "runs",
        "approvals",
        "run_calls",
        "keys",
        "store",
    ];

    const FIRST: &str = "CREATE TABLE things (name TEXT);";
    const SECOND: &str = "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7;";

    #[test]
    fn an_older_file_is_brought_up_and_keeps_what_it_has() {
        let mut file = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut file, &[FIRST]).unwrap(), SchemaState::Ready);
        file.execute("INSERT INTO things VALUES ('old')", []).unwrap();
        assert_eq!(migrate(&mut file, &[FIRST, SECOND]).unwrap(), SchemaState::Ready);
        let row = file.query_row("SELECT name, size FROM things", [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(row.unwrap(), ("old".to_owned(), 7));
        assert_eq!(
            migrate(&mut file, &[FIRST, SECOND]).unwrap(),
            SchemaState::Ready,
            "nothing is done twice"
        );
    }

    #[test]
    fn a_newer_file_and_one_of_another_program_are_left_alone() {
        let mut newer = Connection::open_in_memory().unwrap();
        migrate(&mut newer, &[FIRST, SECOND]).unwrap();
        assert_eq!(migrate(&mut newer, &[FIRST]).unwrap(), SchemaState::Newer(2));
        let mut foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        assert_eq!(migrate(&mut foreign, &[FIRST]).unwrap(), SchemaState::Foreign);
        let tables: i64 =
            foreign.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut file = Connection::open_in_memory().unwrap();
        migrate(&mut file, &[FIRST]).unwrap();
        assert!(migrate(&mut file, &[FIRST, "CREATE TABLE more (a); CREATE TABLE things (b);"]).is_err());
        assert_eq!(version(&file).unwrap(), 1);
        assert!(file.prepare("SELECT * FROM more").is_err());
    }

    #[test]
    fn what_an_older_key_has_kept_is_not_continued() {
        let mut file = Connection::open_in_memory().unwrap();
        migrate(&mut file, &STEPS[..6]).unwrap();
        file.execute_batch(
            "INSERT INTO runs (principal, run, owner, claimed_at, state) VALUES ('', 'going', '', 0, 'open'),
                ('', 'gone', '', 0, 'pruned');
             INSERT INTO approvals VALUES ('a', '', '', NULL, 'pay', '', 'approved', NULL, 0, 0, NULL),
                ('b', '', '', NULL, 'pay', '', 'used', NULL, 0, 0, NULL);",
        )
        .unwrap();
        assert_eq!(migrate(&mut file, STEPS).unwrap(), SchemaState::Ready);
        let states = |sql: &str| -> String { file.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(
            states("SELECT group_concat(state) FROM (SELECT * FROM runs ORDER BY run)"),
            "older,pruned"
        );
        assert_eq!(
            states("SELECT group_concat(state) FROM (SELECT * FROM approvals ORDER BY id)"),
            "older,used"
        );
    }

    #[test]
    fn the_real_steps_work() {
        let mut file = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut file, STEPS).unwrap(), SchemaState::Ready);
        let mut names = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(names, TABLES);
    }
}
