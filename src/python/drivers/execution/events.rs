//! What happens to attempts while the caller waits: answers, deadlines, stops, and the end of the hub, with which its calls in
//! flight end on whatever loop they run. Always on the loop's thread, but for [`end_calls`].
//!
//! A suspended execution is in the table of deadlines of its loop, so a call pays nothing to be found there.

use super::Execution;
use super::state::{Attempt, AttemptState, EndSignal, leftover};
use crate::classes::hub::PyHub;
use crate::drivers::awaiting::{current_task_of, is_coroutine};
use crate::drivers::candidate_task::CandidateTask;
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::loop_bridge::{self, LoopBridge, LoopMessage, Mail, running_loop, wake};
use crate::runtime::pool::AbandonedResources;
use std::convert::Infallible;
use tokio::sync::mpsc;
use toolhub::execute::not_returned;
use toolhub::registry::Candidate;

impl Execution {
    pub(super) fn on_message(slf: &Bound<'_, Self>, slot: usize, message: LoopMessage) {
        let py = slf.py();
        let this = slf.get();
        match message {
            LoopMessage::Retried(news) => match this.tell_start(py, slot, Some(&news)) {
                Ok(()) => return,
                Err(interrupt) => drop(this.interrupt(interrupt)),
            },
            LoopMessage::Returned(Ok(value)) if is_coroutine(value.bind(py)) => {
                let unwanted = this.state.lock().hold_coroutine(slot, value);
                if let Some(coroutine) = unwanted {
                    this.returned(py, slot, coroutine);
                }
            }
            LoopMessage::Returned(Ok(value)) => this.returned(py, slot, value),
            LoopMessage::Returned(Err(error)) => this.raised(py, slot, error),
            LoopMessage::NotReturned(refusal) => {
                this.fail(slot, not_returned(&this.tool_name(slot), refusal))
            }
            LoopMessage::Answered(answer) => this.answered(py, slot, *answer),
            LoopMessage::Woken => {
                this.with_plan(|plan| plan.run.resume(slot));
            }
        }
        Self::after_event(slf);
    }

    pub(super) fn on_deadline(slf: &Bound<'_, Self>) {
        let this = slf.get();
        let now = Instant::now();
        {
            let mut state = this.state.lock();
            state.timer = None;
            if let Some(plan) = state.plan.as_mut() {
                plan.run.tick(now);
            }
        }
        Self::stop_what_is_over(slf, now);
    }

    /// The policy has ended attempts: stops them, in the caller's task as well.
    pub(super) fn stop_what_is_over(slf: &Bound<'_, Self>, now: Instant) {
        let done = Self::cancel_direct(slf, now).and_then(|()| Self::arm(slf));
        show_unraisable(done, slf.as_any());
        Self::after_event(slf);
    }

    /// Losers are stopped at once; everything else is done in the caller's task and context, which is woken if it waits and
    /// there is something to do. There is when an attempt was stopped: the loop runs those first, so that they are
    /// usually gone when the caller's turn comes.
    pub fn after_event(slf: &Bound<'_, Self>) {
        let py = slf.py();
        let stopped = Self::stop_losers(slf);
        let (waits, waiter) = {
            let mut state = slf.get().state.lock();
            let waits = state.direct.is_none() && state.waiter.is_some();
            let due = waits && (stopped || state.has_work());
            (waits, if due { state.waiter.take() } else { None })
        };
        let done = match waiter {
            Some(waiter) => wake(waiter.bind(py)),
            // What is due next may have changed: losers are given their grace, not what was left of their time.
            None if waits => Self::arm(slf),
            None => Ok(()),
        };
        show_unraisable(done, slf.as_any());
    }

    /// Stops the candidates that the policy wants to stop; true if there were any.
    pub(super) fn stop_losers(slf: &Bound<'_, Self>) -> bool {
        let next = || slf.get().with_plan(|plan| plan.run.next_stop()).flatten();
        let mut stopped = false;
        while let Some(slot) = next() {
            Self::stop(slf, slot);
            stopped = true;
        }
        stopped
    }

    pub(super) fn stop(slf: &Bound<'_, Self>, slot: usize) {
        let (py, this) = (slf.py(), slf.get());
        let mut state = this.state.lock();
        match &mut state.attempts[slot].state {
            // These end by themselves and report then.
            AttemptState::Task(task) => {
                let task = task.clone_ref(py);
                drop(state);
                if let Err(error) = CandidateTask::stop(task.bind(py))
                    && !Self::port(slf).is_ok_and(|port| port.get().is_closed(py))
                {
                    error.write_unraisable(py, Some(slf.as_any()));
                }
            }
            AttemptState::Native { cancel, .. } => {
                let cancel = cancel.clone();
                drop(state);
                cancel.cancel();
            }
            // Its own clock presses it; see `direct`.
            AttemptState::InPlace => {}
            // These are over as soon as they are dropped.
            waiting => {
                let waiting = std::mem::take(waiting);
                drop(state);
                waiting.give_up(py, || this.take_leftover(slot).unwrap_or_default());
                this.mark_stopped(slot);
            }
        }
    }

    /// What an attempt that goes on without its call keeps.
    pub(super) fn take_leftover(&self, slot: usize) -> Option<AbandonedResources> {
        let mut state = self.state.lock();
        let candidate = state.plan.as_ref()?.candidates.get(slot)?.clone();
        let permits = state.attempts.get_mut(slot)?.permits.take();
        drop(state);
        Some(leftover(permits, &candidate))
    }

    /// Sets the timer to the next thing that will be due, unless an earlier one is set.
    pub(super) fn arm(slf: &Bound<'_, Self>) -> PyResult<()> {
        let this = slf.get();
        let (at, set) = {
            let state = this.state.lock();
            let wake_at = state.plan.as_ref().and_then(|plan| plan.run.wake_at());
            let second_cancel_at = state.direct.as_ref().and_then(|direct| direct.second_cancel_at);
            (wake_at.into_iter().chain(second_cancel_at).min(), state.timer)
        };
        let Some(at) = at else { return Ok(()) };
        if set.is_some_and(|(armed, _)| armed <= at) {
            return Ok(());
        }
        let port = Self::port(slf)?;
        if let Some(old) = set {
            port.get().remove_deadline(old);
        }
        let key = LoopBridge::add_deadline(&port, at, slf)?;
        this.state.lock().timer = Some(key);
        Ok(())
    }

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

/// The execution ends while this attempt is still going on: it must not report any more.
pub fn detach(attempt: &mut Attempt, py: Python<'_>, port: &LoopBridge, candidate: &Candidate) {
    let permits = &mut attempt.permits;
    let mut leftover = || leftover(permits.take(), candidate);
    match std::mem::take(&mut attempt.state) {
        AttemptState::Native { job, .. } => job.abort(),
        AttemptState::Task(task) => {
            let kept = CandidateTask::outlives_call(task.bind(py), leftover());
            if let Err(error) = kept.and_then(|()| port.keep_until_done(task.bind(py))) {
                error.write_unraisable(py, None);
            }
        }
        waiting => waiting.give_up(py, leftover),
    }
}

/// How long the end of a call may take in addition to the grace of its tool.
const EXTRA: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(8);

/// Ends the calls of a hub that are in flight, except those inside which it is closed. Returns their end, to be awaited for a
/// bounded time; with `blocking` calls on the loop of this thread are left out, because they cannot end while it is blocked.
#[pyfunction]
pub fn end_calls<'py>(hub: &Bound<'py, PyHub>, blocking: bool) -> PyResult<Option<Bound<'py, BridgeFuture>>> {
    let py = hub.py();
    let bridges = loop_bridge::all(py);
    if bridges.is_empty() {
        // No event loop has ever called, and perhaps none was ever imported.
        return Ok(None);
    }
    let here = running_loop(py).ok();
    let task = here.as_ref().map(current_task_of).transpose()?;
    let (signal, mut ended) = mpsc::channel::<Infallible>(1);
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
    let all_ended = async move {
        _ = tokio::time::timeout(limit, ended.recv()).await;
        Ok(())
    };
    awaited.then(|| bridge::run(py, all_ended)).transpose()
}
