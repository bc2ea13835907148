//! The ledger, runs and approvals of a hub, and its store. What waits for a thread of theirs or touches the file does so without
//! the GIL.

use crate::classes::hub::PyHub;
use crate::classes::options::named;
use crate::prelude::*;
use crate::runtime::{block_on, call_scope};
use crate::values::json::JsonValue;
use pyo3::exceptions::PyOSError;
use std::path::PathBuf;
use tokio::sync::oneshot;
use toolhub::hub::not_settled;
use toolhub::message::Message;
use toolhub::plan::in_short;
use toolhub::store::ledger::{self, LedgerDone, LedgerFilter};
use toolhub::store::{Store, accept, fork, real_place};

/// Inside a served call only what belongs to its caller is seen; elsewhere everything, or what belongs to `principal`.
fn seen_by(py: Python<'_>, principal: Option<String>) -> PyResult<Option<String>> {
    let caller = call_scope::principal(py)?;
    Ok(caller.map(|caller| caller.id.to_string()).or(principal))
}

/// Waits without the GIL for what the ledger answers.
fn wait<T: Send + 'static>(py: Python<'_>, ask: impl FnOnce(LedgerDone<T>) + Send) -> PyResult<T> {
    let (answer, answered) = oneshot::channel();
    py.detach(|| ask(Box::new(move |known| drop(answer.send(known)))));
    let answer = block_on::wait(py, block_on::wakeup()?, async move { Ok(answered.await) }, |_| Ok(()))?;
    let answer = answer.unwrap_or_else(|_| Err("it is closed".into()));
    let why = |why: Message| PyOSError::new_err(format!("The ledger in the store cannot be used ({why})."));
    answer.map_err(|problem| why(problem.why()))
}

/// The rows of calls that may have had effects, oldest first.
#[pyfunction]
#[pyo3(signature = (hub, run: "str | None", principal: "str | None", state: "str | None", tool: "str | None", limit: "int") -> "list[dict[str, object]]")]
pub fn ledger_rows(
    hub: &Bound<'_, PyHub>,
    run: Option<String>,
    principal: Option<String>,
    state: Option<&str>,
    tool: Option<String>,
    limit: usize,
) -> PyResult<Vec<JsonValue>> {
    let py = hub.py();
    let state = state.map(|name| named("state", name)).transpose()?;
    let filter = LedgerFilter { run, principal: seen_by(py, principal)?, state, tool, limit };
    let core = hub.get().checked_core()?;
    Ok(wait(py, |done| core.ledger().rows(filter, done))?.into_iter().map(JsonValue).collect())
}

/// Why something was not done, as an exception in the language of the hub.
pub fn refused(hub: &Bound<'_, PyHub>, kind: ErrorKind, why: Message) -> PyErr {
    tool_error(hub.py(), &HubError::new(kind, why).in_language(hub.get().core().options.lang))
}

/// Takes a run that was begun, whose calls are counted from the beginning; raises if that cannot be.
#[pyfunction]
pub fn resume_run(hub: &Bound<'_, PyHub>, run: String) -> PyResult<()> {
    let py = hub.py();
    let (core, principal) = (hub.get().checked_core()?, seen_by(py, None)?.unwrap_or_default());
    let taken = wait(py, |done| core.ledger().resume(principal, run, done))?;
    taken.map_err(|why| refused(hub, ErrorKind::NotAllowed, message!("The run cannot be resumed: {}", why)))
}

/// Lets other processes have a run.
#[pyfunction]
pub fn release_run(hub: &Bound<'_, PyHub>, run: String) -> PyResult<()> {
    let py = hub.py();
    let (core, principal) = (hub.get().core(), seen_by(py, None)?.unwrap_or_default());
    wait(py, |done| core.ledger().release(principal, run, done))
}

/// Decides about a row: `done`, `failed` or `again`; raises if there is none that can be decided about.
#[pyfunction]
#[pyo3(signature = (hub, id: "str", decision: "str", value: "object"))]
pub fn settle_row(
    hub: &Bound<'_, PyHub>,
    id: String,
    decision: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = hub.py();
    let decision = (named("the decision", decision)?, json::as_json("the result of a settled call", value)?);
    let (core, principal) = (hub.get().checked_core()?, seen_by(py, None)?);
    let settled = id.clone();
    match wait(py, |done| core.ledger().settle(settled, principal, decision, done))? {
        true => Ok(()),
        false => Err(refused(hub, ErrorKind::NotFound, not_settled(&id))),
    }
}

/// The questions that wait for an answer, oldest first.
#[pyfunction]
#[pyo3(signature = (hub, principal: "str | None") -> "list[dict[str, object]]")]
pub fn pending_approvals(hub: &Bound<'_, PyHub>, principal: Option<String>) -> PyResult<Vec<JsonValue>> {
    let py = hub.py();
    let (core, principal) = (hub.get().checked_core()?, seen_by(py, principal)?);
    Ok(wait(py, |done| core.ledger().pending(principal, done))?.into_iter().map(JsonValue).collect())
}

/// Answers a question; raises if that cannot be.
#[pyfunction]
#[pyo3(signature = (hub, id, approves, reason=None))]
pub fn decide_approval(
    hub: &Bound<'_, PyHub>,
    id: String,
    approves: bool,
    reason: Option<String>,
) -> PyResult<()> {
    let py = hub.py();
    let (core, principal) = (hub.get().checked_core()?, seen_by(py, None)?);
    let decided = wait(py, |done| core.ledger().decide(id, principal, (approves, reason), done))?;
    decided.map_err(|why| refused(hub, ErrorKind::NotFound, why))
}

/// Whether anything was asked of the ledger so far.
#[pyfunction]
pub fn has_ledger(hub: &Bound<'_, PyHub>) -> bool {
    hub.get().core().has_ledger()
}

/// Writes what is queued, and closes the ledger. False if that took too long.
#[pyfunction]
pub fn close_ledger(py: Python<'_>, hub: &Bound<'_, PyHub>, seconds: f64) -> bool {
    let core = hub.get().core();
    py.detach(|| core.close_ledger(Duration::from_secs_f64(seconds)))
}

/// The text of a question with its long values cut in the middle, each with its length.
#[pyfunction]
pub fn shown_in_short(shown: &str) -> String {
    in_short(shown)
}

/// Accepts a store that is not the one that was here before; false if it is.
#[pyfunction]
pub fn accept_store(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    let store = real_place(&path);
    py.detach(|| accept(&store)).map_err(|why| {
        PyOSError::new_err(format!("The store '{}' cannot be accepted ({why}).", store.display()))
    })
}

/// Opens the store of a hub and gives its content to it; `room` bytes of it are for results. Returns warnings for the user. If the
/// file cannot be used, everything stays in memory.
#[pyfunction]
pub fn open_store(hub: &Bound<'_, PyHub>, path: PathBuf, room: u64) -> Vec<String> {
    let core = hub.get().core();
    hub.py().detach(|| {
        let (store, notices) = Store::open(&path, room);
        match store {
            Some(store) => core.keep_in(store),
            None => core.go_without_store(&path),
        }
        notices
    })
}

/// The problems of the store since the last call.
#[pyfunction]
pub fn store_notices(hub: &Bound<'_, PyHub>) -> Vec<String> {
    store_of(hub).map(|store| store.notices()).unwrap_or_default()
}

/// Writes everything now. False if that failed or took longer than `seconds`, or if there is no file.
#[pyfunction]
pub fn flush_store(hub: &Bound<'_, PyHub>, seconds: f64) -> PyResult<bool> {
    let (store, patience) = (hub.get().checked_core()?.store(), Duration::from_secs_f64(seconds));
    Ok(store.is_some_and(|store| hub.py().detach(|| store.flush(patience))))
}

/// Writes everything and closes the file.
#[pyfunction]
pub fn close_store(hub: &Bound<'_, PyHub>, seconds: f64) -> bool {
    let patience = Duration::from_secs_f64(seconds);
    store_of(hub).is_none_or(|store| hub.py().detach(|| store.close(patience)))
}

/// `None` in a forked child, which has no writer thread.
fn store_of<'a>(hub: &'a Bound<'_, PyHub>) -> Option<&'a Arc<Store>> {
    hub.get().core().store().filter(|_| hub.get().is_of_this_process())
}

/// In a forked child: the stores stay with the parent.
pub fn forget_stores() {
    ledger::close_in_child();
    fork::after_in_child();
}

/// Before a fork: closes all store files, and opens none until the fork is over.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    // Usually no store is being written, and the GIL can be kept.
    if !fork::before() {
        py.detach(fork::before_writers_end);
    }
}

#[pyfunction]
pub fn after_fork_in_parent() {
    fork::after_in_parent();
}
