//! L5, the only place that knows Python: one door between asyncio and the core.
//!
//! ```text
//! hub.execute ─► Execution (awaitable, on the caller's loop) ─► in place · CandidateTask (task) · pool (thread) · tokio
//!                    ▲                                                             │
//!               LoopBridge ◄─────────── Mailbox (no GIL) ◄─────────────────────────┘
//! hub.call ─► BlockingRoot on the background loop, the thread waits in poll(2)
//! ```

mod classes;
mod drivers;
mod prelude;
mod runtime;
mod values;

use classes::proof::*;
use classes::serving::*;
use classes::upstream::*;
use classes::*;
use drivers::*;
use runtime::*;
use values::results::*;
use values::*;

use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::{
        answers::{format_result, read_more, write_answers, write_results},
        awaiting::Awaitable,
        block_on::run_blocking,
        blocks::{Blocks, binary_note, result_text},
        bridge::{BridgeFuture, BridgeStream, in_thread},
        call::CallDriver,
        call::entry::{dispatch, execute},
        call::request::{PyMessageOrder, plan_run, read_request},
        call_scope::{CallScope, current_call_scope, enter_call_scope, leave_call_scope},
        callbacks::{CallbackQueue, CallbackRequest},
        cassette::{
            CassetteQuestion, cassette_events, finish_cassette, first_difference, question_on_cassette,
            scrub, start_recording, start_replay, stop_cassette,
        },
        event_text::{event_error, event_name},
        execution::Execution,
        execution::events::end_calls,
        gateway::{GatewayReply, PyArrivingRequest, PyGateway},
        gateway_options::{named_caller, serve_section},
        hub::{PyHub, extract_capabilities},
        in_process::{InProcessHost, InProcessSession, add_in_process},
        interpreter::gil_pauses,
        ledger::{
            accept_store, after_fork_in_parent, before_fork, close_ledger, close_store, decide_approval,
            flush_store, has_ledger, ledger_rows, open_store, pending_approvals, release_run, resume_run,
            settle_row, shown_in_short, store_notices,
        },
        llm::ChatClient,
        loop_bridge::{LoopBridge, current},
        offers::{PyOfferQuery, add_offer, ask_own, own_offers, remove_offer, resource_updated},
        options::{PyCallOptions, PyPatternList},
        parse::{PyParsedCall, PyStreamParser, parse_formats, parse_text},
        pool::{ThreadedFunction, Worker, current_function, pool_state, stop_workers},
        prompt::{original_name, prompt_text, vendor_tools},
        read_documents::{
            acting_verb, config_entries, config_problem, deeds_in, error_kinds, in_digits, in_language,
            is_secret_name, meanings, message_text, min_result_limit, names_more, read_documents, read_json,
            read_yaml, recorded_page, server_options, sides_of, similarity, tool_kind, units,
            unknown_options, unreached, words_of,
        },
        result::{empty_meta, failed_result},
        routing::{add_alias, explain},
        runtime::{idle_look, open_hubs},
        search::{PyHit, ToolChoice, embed, search, unembedded, use_search_data},
        served_call::ServedCall,
        servers::{PyServers, usual_token_file},
        skills::{SkillFolder, skill_file},
        telemetry::{TelemetryQueue, telemetry_attributes},
        text::{PyTokenizer, merge_texts, truncate_text, visible_text},
        views::{PyCandidate, ToolInfo, ToolView},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        refuse_subinterpreter()?;
        let py = module.py();
        use_safe_bridge(py, std::env::var_os("TOOLHUB_SAFE_BRIDGE").is_some_and(|value| value == "1"));
        Ok(())
    }

    /// Closes the door to other threads and ends the worker threads, while the interpreter is still whole.
    #[pyfunction]
    fn shutdown_runtime(py: Python<'_>, seconds: f64) {
        let patience = Duration::from_secs_f64(seconds);
        // Servers and stores end while the runtime can still serve them, and get three times as long as the rest.
        py.detach(|| {
            servers::close_all(patience * 3);
            toolhub::store::close_all(patience * 3);
        });
        runtime::shut_down(py, patience);
    }

    /// The child of a fork has none of the parent's threads. Dropping the runtime would join them: forget it instead.
    #[pyfunction]
    fn after_fork_in_child() {
        runtime::forget_parent();
        loop_bridge::forget_loops();
        servers::forget_servers();
        ledger::forget_stores();
        pool::forget_workers();
    }

    /// Chooses the way across the bridge: fast, or over documented interfaces only. Returns what was chosen before.
    #[pyfunction]
    fn use_safe_bridge(py: Python<'_>, safe: bool) -> bool {
        let before = awaiting::SAFE.swap(safe, Ordering::Relaxed);
        awaiting::install_am_send::<execution::Execution>(py);
        awaiting::install_am_send::<bridge::BridgeFuture>(py);
        awaiting::install_am_send::<call::CallDriver>(py);
        awaiting::install_am_send::<candidate_task::CandidateTask>(py);
        awaiting::install_am_send::<block_on::BlockingRoot>(py);
        before
    }
}

/// Runtime, loop bridges and pool belong to one interpreter. A subinterpreter must not come first either: it would keep the
/// main one out, and its exit waits for threads that it does not have.
fn refuse_subinterpreter() -> PyResult<()> {
    const MAIN: i64 = 0;
    // SAFETY: the GIL is held.
    if unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) } == MAIN {
        return Ok(());
    }
    Err(pyo3::exceptions::PyImportError::new_err(
        "toolhub works in the main interpreter of a process only, and this is a subinterpreter; use a thread or a \
         process instead",
    ))
}
