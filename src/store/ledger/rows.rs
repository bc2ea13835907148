//! The rows: one for each attempt that may have effects, written before anything is sent.

use super::owner::is_alive;
use crate::time::now;
use crate::writer::OpenTables;
use rusqlite::types::ValueRef;
use rusqlite::{Row, params, params_from_iter};
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use toolhub_types::model::KeyDigests;

toolhub_types::named! {
    /// What is known about an effect.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EffectState {
        /// Under way, in a process that lives.
        Started = "started",
        /// Nothing was sent.
        NotSent = "not_sent",
        Done = "done",
        /// The tool, its server or the hub says that it failed.
        Failed = "failed",
        /// It may have happened.
        Unknown = "unknown",
    }
}

/// Digests that are made when the row is written, on the thread of the ledger.
pub type LateDigests = LazyLock<KeyDigests, Box<dyn FnOnce() -> KeyDigests + Send>>;

/// An attempt that is about to start.
pub struct NewEffect {
    pub id: String,
    pub run: Option<String>,
    pub call: String,
    pub principal: String,
    pub tool: Arc<str>,
    pub source: &'static str,
    pub server: Option<Arc<str>>,
    pub definition: Arc<str>,
    pub digests: LateDigests,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct EffectEnd {
    pub id: String,
    pub state: EffectState,
    /// Why it did not succeed, for people.
    pub error: Option<String>,
    /// It failed in a way that proves that nothing happened.
    pub repeatable: bool,
}

impl EffectEnd {
    /// Whether nothing has happened, so that a run makes the call again.
    pub fn is_harmless(&self) -> bool {
        self.state == EffectState::NotSent || (self.state == EffectState::Failed && self.repeatable)
    }
}

/// Which rows are wanted; the newest `limit`, oldest first.
#[derive(Clone, Debug, Default)]
pub struct LedgerFilter {
    pub run: Option<String>,
    pub principal: Option<String>,
    pub state: Option<EffectState>,
    pub tool: Option<String>,
    pub limit: usize,
}

pub fn insert(ledger: &OpenTables<'_>, new: &NewEffect) -> rusqlite::Result<()> {
    let sql = "INSERT INTO ledger (id, run, call, principal, tool, source, server, definition, key, arguments, state, owner, \
               started_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'started', ?11, ?12)";
    let values = params![
        new.id,
        new.run,
        new.call,
        new.principal,
        new.tool,
        new.source,
        new.server.as_deref().unwrap_or_default(),
        new.definition,
        new.digests.key,
        new.digests.arguments,
        ledger.own,
        now()
    ];
    ledger.run(sql, values).map(drop)
}

pub fn end(ledger: &OpenTables<'_>, ended: &EffectEnd) -> rusqlite::Result<()> {
    let sql = "UPDATE ledger SET state = ?2, error = ?3, repeatable = ?4, ended_at = ?5 WHERE id = ?1";
    let EffectEnd { id, state, error, repeatable } = ended;
    ledger.run(sql, params![id, state.name(), error, repeatable, now()]).map(drop)
}

/// What processes that have ended left behind may have happened.
pub fn mark_orphans_unknown(ledger: &OpenTables<'_>) -> rusqlite::Result<()> {
    let Some(path) = ledger.path else { return Ok(()) };
    if ledger.is_readonly(rusqlite::MAIN_DB)? {
        return Ok(());
    }
    let mut owners =
        ledger.prepare_cached("SELECT DISTINCT owner FROM ledger WHERE state = 'started' AND owner <> ?1")?;
    let owners: Vec<String> = owners.query_map([ledger.own], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for gone in owners.iter().filter(|owner| !is_alive(path, owner)) {
        ledger.execute(
            "UPDATE ledger SET state = 'unknown', error = 'its process ended', ended_at = ?2
             WHERE state = 'started' AND owner = ?1",
            params![gone, now()],
        )?;
    }
    Ok(())
}

pub fn list(ledger: &OpenTables<'_>, filter: &LedgerFilter) -> rusqlite::Result<Vec<Value>> {
    let (sql, wanted) = list_query(filter);
    let mut rows: Vec<Value> =
        ledger.prepare(&sql)?.query_map(params_from_iter(wanted), shown)?.collect::<Result<_, _>>()?;
    rows.reverse();
    Ok(rows)
}

/// A word that this version does not know says nothing about the effect.
const STATE: &str =
    "CASE WHEN l.state IN ('started', 'not_sent', 'done', 'failed') THEN l.state ELSE 'unknown' END";

/// The query of a list, and its values. The condition that leaves the fewest rows is looked up in its index; a `+` keeps the
/// others from being looked up in theirs.
fn list_query(filter: &LedgerFilter) -> (String, Vec<&str>) {
    let state = filter.state.map(EffectState::name);
    let wanted = [("run", &filter.run), ("tool", &filter.tool), ("principal", &filter.principal)]
        .map(|(column, value)| (column, value.as_deref()));
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    for (column, value) in wanted.into_iter().chain([("state", state)]) {
        let Some(value) = value else { continue };
        values.push(value);
        let unused = if conditions.is_empty() { "" } else { "+" };
        conditions.push(format!("{unused}l.{column} = ?{}", values.len()));
        // As their indexes say, which leave out what almost every row has.
        match column {
            "principal" if !value.is_empty() => conditions.push("l.principal <> ''".to_owned()),
            "state" if value != EffectState::Done.name() => conditions.push("l.state <> 'done'".to_owned()),
            _ => {}
        }
    }
    let conditions = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT l.id, l.run, l.call, l.principal, l.tool, l.source, nullif(l.server, '') AS server, l.definition, l.key,
                l.arguments, {STATE} AS state, l.error, l.repeatable, l.started_at / 1e6 AS started_at,
                l.ended_at / 1e6 AS ended_at, CASE WHEN c.state IN ('over', 'changed') THEN c.result END AS result
         FROM ledger l LEFT JOIN run_calls c ON c.call = l.call
         WHERE {conditions} ORDER BY l.id DESC LIMIT {limit}"
    );
    (sql, values)
}

/// A row as it is shown: its columns by their names.
pub fn shown(row: &Row<'_>) -> rusqlite::Result<Value> {
    let columns = row.as_ref().column_names().enumerate().map(|(at, name)| {
        let value = match row.get_ref(at)? {
            ValueRef::Text(text) if name == "result" => serde_json::from_slice(text).unwrap_or_default(),
            ValueRef::Text(_) => row.get::<_, String>(at)?.into(),
            ValueRef::Integer(flag) => (flag != 0).into(),
            ValueRef::Real(seconds) => seconds.into(),
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        };
        Ok((name.to_owned(), value))
    });
    columns.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::schema;
    use rusqlite::Connection;

    /// How SQLite finds the rows of a list.
    fn plan(filter: &LedgerFilter) -> String {
        let mut file = Connection::open_in_memory().unwrap();
        schema::migrate(&mut file, schema::STEPS).unwrap();
        let (sql, values) = list_query(filter);
        let mut steps = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = steps.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    /// Without an index a list reads every row, and with a wrong one it sorts all that fit.
    #[test]
    fn every_list_is_read_from_an_index_in_its_order() {
        let text = |text: &str| Some(text.to_owned());
        let (run, tool, principal) = (text("r"), text("t"), text("p"));
        let (state, done) = (Some(EffectState::Unknown), Some(EffectState::Done));
        let none = LedgerFilter { limit: 1_000, ..LedgerFilter::default() };
        for (filter, index) in [
            (none.clone(), "SCAN l"),
            (LedgerFilter { run: run.clone(), ..none.clone() }, "ledger_runs"),
            (LedgerFilter { tool: tool.clone(), ..none.clone() }, "ledger_tools"),
            (LedgerFilter { principal: principal.clone(), ..none.clone() }, "ledger_principals"),
            (LedgerFilter { state, ..none.clone() }, "ledger_states"),
            (LedgerFilter { state: done, ..none.clone() }, "SCAN l"),
            (LedgerFilter { run, principal, tool, state, ..none }, "ledger_runs"),
        ] {
            let plan = plan(&filter);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
            assert!(!plan.contains("SCAN c"), "{plan}");
        }
    }
}
