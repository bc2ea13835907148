//! The end of a hub: its calls in flight end too, on whatever loop they run.
//!
//! A suspended execution is in the table of deadlines of its loop, so a call pays nothing to be found here.

use super::Execution;
use super::state::{AttemptState, EndSignal};
use crate::classes::hub::PyHub;
use crate::drivers::awaiting::current_task_of;
use crate::prelude::*;
use crate::runtime;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::loop_bridge::{self, LoopBridge, Mail, running_loop};
use futures_util::FutureExt;
use std::convert::Infallible;
use tokio::sync::mpsc;

/// How long the end of a call may take in addition to the grace of its tool.
const EXTRA: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(8);

impl Execution {
    /// Ends the call with a failure: its attempts are cancelled and awaited for their grace. Only on the loop's thread.
    fn end_by_close(slf: &Bound<'_, Self>, signal: Option<EndSignal>) {
        let now = Instant::now();
        let decided = {
            let mut state = slf.get().state.lock();
            let Some(plan) = state.plan.as_mut() else { return };
            let decided = plan.run.close(now);
            state.closing = signal;
            decided
        };
        if decided {
            Self::stop_what_is_over(slf, now);
        }
    }

    /// Another thread closed the hub while this call was not suspended, so [`end_calls`] did not see it. On the same thread
    /// it was the tool itself, which may finish.
    pub(super) fn end_if_closed(slf: &Bound<'_, Self>) {
        if slf.get().hub.get().is_closed_elsewhere() {
            Self::end_by_close(slf, None);
        }
    }

    /// Whether this task is stepping the call, or one of its attempts.
    fn is_stepped_by(&self, task: &Bound<'_, PyAny>) -> bool {
        let state = self.state.lock();
        let caller = state.direct.as_ref().and_then(|direct| direct.caller.as_ref());
        caller.is_some_and(|(caller, _)| caller.is(task))
            || state
                .attempts
                .iter()
                .any(|attempt| matches!(&attempt.state, AttemptState::Task(one) if one.is(task)))
    }
}

/// Calls that were asked to end.
#[pyclass(frozen, module = "toolhub._core")]
pub struct EndingCalls {
    ended: Mutex<Option<mpsc::Receiver<Infallible>>>,
    limit: Duration,
}

#[pymethods]
impl EndingCalls {
    /// Waits without the GIL until they have ended, for a bounded time.
    fn wait(&self, py: Python<'_>) {
        let Ok(lease) = runtime::handle() else { return };
        py.detach(|| lease.block_on(self.ended()));
    }

    /// Awaits their end, for a bounded time.
    fn wait_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, BridgeFuture>> {
        bridge::run(py, self.ended().map(Ok))
    }
}

impl EndingCalls {
    fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let (ended, limit) = (self.ended.lock().take(), self.limit);
        async move {
            if let Some(mut ended) = ended {
                let _ = tokio::time::timeout(limit, ended.recv()).await;
            }
        }
    }
}

/// Ends the calls of a hub that are in flight, except those inside which it is closed. Returns what to wait for; with
/// `blocking` calls on the loop of this thread are left out, because they cannot end while it is blocked.
#[pyfunction]
pub fn end_calls(hub: &Bound<'_, PyHub>, blocking: bool) -> PyResult<Option<EndingCalls>> {
    let py = hub.py();
    let bridges = loop_bridge::all(py);
    if bridges.is_empty() {
        // No event loop has ever called, and perhaps none was ever imported.
        return Ok(None);
    }
    let here = running_loop(py).ok();
    let task = here.as_ref().map(current_task_of).transpose()?;
    let (signal, ended) = mpsc::channel(1);
    let mut awaited = false;
    for bridge in bridges {
        let target = bridge.get();
        let mut calls = target.suspended::<Execution>(py);
        calls.retain(|call| {
            call.get().hub.is(hub) && !task.as_ref().is_some_and(|task| call.get().is_stepped_by(task))
        });
        if calls.is_empty() || target.is_closed(py) {
            continue;
        }
        let is_here = here.as_ref().is_some_and(|here| target.event_loop(py).is(here));
        let can_wait = target.is_running(py) && !(blocking && is_here);
        awaited |= can_wait;
        let signal = can_wait.then(|| signal.clone());
        let calls: Vec<_> = calls.into_iter().map(Bound::unbind).collect();
        target.mailbox.push(Mail::Run(Box::new(move |bridge: &Bound<'_, LoopBridge>| {
            for call in calls {
                Execution::end_by_close(call.bind(bridge.py()), signal.clone());
            }
        })));
    }
    let limit = (hub.get().core().options.grace.saturating_add(EXTRA)).min(LONGEST);
    Ok(awaited.then(|| EndingCalls { ended: Mutex::new(Some(ended)), limit }))
}
