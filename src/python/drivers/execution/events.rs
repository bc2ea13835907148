//! What happens to attempts while the caller waits: answers, ends, deadlines, stops. Always on the loop's thread.

use super::Execution;
use super::recording::record_late;
use super::state::{Attempt, AttemptState, leftover};
use crate::drivers::awaiting::{is_being_cancelled, is_coroutine};
use crate::drivers::child::Child;
use crate::prelude::*;
use crate::runtime::call_scope::tell_progress;
use crate::runtime::loop_bridge::{LoopBridge, Message, wake};
use crate::runtime::pool::Leftover;
use crate::values::arguments::callable::{CallableKind, python_tool, raised};
use crate::values::json::LargeJson;
use crate::values::results::blocks::Blocks;
use crate::values::value;
use toolhub::error::clip;
use toolhub::execute::{Answer, Fate, not_returned, reported};
use toolhub::hub::PlannedRun;
use toolhub::kill_point::kill_point;
use toolhub::model::{Meaning, NothingMeans, ReportedFailure};
use toolhub::registry::Candidate;

impl Execution {
    pub(super) fn on_message(slf: &Bound<'_, Self>, slot: usize, message: Message) {
        let py = slf.py();
        let this = slf.get();
        match message {
            Message::Progress(reports) => {
                let function = this.extras.as_ref().and_then(|extras| extras.progress.as_ref());
                for update in reports.take() {
                    if let Some(taping) =
                        this.state.lock().attempts.get(slot).and_then(|one| one.taping.as_ref())
                    {
                        taping.progressed(&update);
                    }
                    function.inspect(|function| tell_progress(function.bind(py), &update));
                }
                return;
            }
            Message::Retried(news) => match this.tell_start(py, slot, Some(news)) {
                Ok(()) => return,
                Err(interrupt) => drop(this.interrupt(interrupt)),
            },
            Message::Returned(Ok(value)) if is_coroutine(value.bind(py)) => {
                let unwanted = this.state.lock().hold_coroutine(slot, value);
                if let Some(coroutine) = unwanted {
                    this.returned(py, slot, coroutine);
                }
            }
            Message::Returned(Ok(value)) => this.returned(py, slot, value),
            Message::Returned(Err(error)) => this.raised(py, slot, error),
            Message::NotReturned(refusal) => this.fail(slot, not_returned(&this.tool_name(slot), refusal)),
            Message::Answered(answer) => this.answered(py, slot, *answer),
            Message::MayGoOn(Ok(permits)) => {
                let unwanted = this.state.lock().go_on(slot, permits);
                drop(unwanted);
            }
            Message::MayGoOn(Err(refusal)) => this.fail(slot, *refusal),
            Message::Settled => {}
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
                if let Err(error) = Child::stop(task.bind(py))
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
                let port = state.port.as_ref().map(|port| port.clone_ref(py));
                drop(state);
                let leftover = || this.take_leftover(slot).unwrap_or_default();
                waiting.give_up(py, port.as_ref().map(|port| port.get()), leftover);
                this.mark_stopped(slot);
            }
        }
    }

    /// What an attempt that goes on without its call keeps.
    pub(super) fn take_leftover(&self, slot: usize) -> Option<Leftover> {
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

    /// The tool gave a value: a success, or one of the ways in which a value says that it failed.
    pub fn returned(&self, py: Python<'_>, slot: usize, value: Py<PyAny>) {
        kill_point();
        let meaning = value::meaning_of(value.bind(py), || self.nothing_means(slot));
        let is_own = matches!(meaning, Meaning::OwnResult | Meaning::Failure(ReportedFailure::Own(_)));
        let value = match is_own.then(|| value::read_own(value.bind(py))).transpose() {
            Ok(own) => own.map_or(value, Bound::unbind),
            Err(error) => return self.raised(py, slot, error),
        };
        match meaning {
            Meaning::Failure(failure) => {
                if is_own && let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
                    attempt.value = Some(value);
                }
                self.fail(slot, reported(&self.tool_name(slot), &failure));
            }
            meaning => {
                let (now, mut state) = (Instant::now(), self.state.lock());
                let ended = state.end_attempt(slot, |plan, attempt| {
                    if !plan.run.succeeded(slot, now) {
                        return (false, attempt.taping.take());
                    }
                    attempt.value = Some(value.clone_ref(py));
                    attempt.is_own_result = meaning == Meaning::OwnResult;
                    (plan.run.is_finished(), None)
                });
                // It outlived the execution, so its outcome is ignored.
                let Some(((ends_all, too_late), held)) = ended else { return };
                state.ended_at = ends_all.then_some(now).or(state.ended_at);
                drop(state);
                drop(held);
                if let Some(taping) = too_late {
                    record_late(*taping, value.bind(py));
                }
            }
        }
    }

    pub fn raised(&self, py: Python<'_>, slot: usize, error: PyErr) {
        let failure = raised(py, CallableKind::Tool, &self.tool_name(slot), &error);
        if let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
            attempt.exception = Some(Box::new(error));
        }
        self.fail(slot, failure);
    }

    pub(super) fn answered(&self, py: Python<'_>, slot: usize, answer: Answer) {
        let mut output = match answer {
            Err(mut error) => {
                if let Some(sent) = error.content.take() {
                    self.put_blocks(slot, Blocks::of_error(&sent));
                }
                return self.fail(slot, error);
            }
            Ok(output) => output,
        };
        let answer = LargeJson(std::mem::take(&mut output.value));
        let value = json::to_python(py, &answer);
        drop(answer);
        if let Some(blocks) = Blocks::of(output) {
            self.put_blocks(slot, blocks);
        }
        match value {
            Ok(value) => self.returned(py, slot, value.unbind()),
            Err(error) => self.raised(py, slot, error),
        }
    }

    fn put_blocks(&self, slot: usize, blocks: Blocks) {
        let mut blocks = Some(Box::new(blocks));
        if let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
            std::mem::swap(&mut attempt.blocks, &mut blocks);
        }
        // Those of an earlier attempt are dropped here, without the lock.
    }

    pub(super) fn fail(&self, slot: usize, error: HubError) {
        let ended = self.state.lock().end_attempt(slot, |plan, attempt| {
            if plan.run.failed(slot, error.nothing_happened, Instant::now()) {
                let was_sent = !plan.run.never_sent(slot);
                attempt.error = Some(Box::new(error.of_attempt(was_sent)));
            }
        });
        drop(ended);
    }

    /// A stopped attempt has ended.
    pub fn mark_stopped(&self, slot: usize) {
        let ended = self.state.lock().end_attempt(slot, |plan, _| plan.run.stopped(slot));
        drop(ended);
    }

    /// A task of ours was cancelled from outside, not by us.
    pub fn child_cancelled(&self, py: Python<'_>, slot: usize, error: &PyErr) {
        let task = match self.state.lock().attempts.get(slot).map(|attempt| &attempt.state) {
            Some(AttemptState::Task(task)) => Some(task.clone_ref(py)),
            _ => None,
        };
        let is_cancelled = || task.as_ref().is_some_and(|task| is_being_cancelled(task.bind(py)));
        match self.with_plan(|plan| plan.run.fate(slot)) {
            // The tool raised it itself.
            Some(Fate::Running) if !is_cancelled() => self.raised(py, slot, error.clone_ref(py)),
            Some(Fate::Running) => {
                let text = message!("Tool '{}' was cancelled from outside.", clip(&self.tool_name(slot)));
                self.fail(slot, HubError::new(ErrorKind::Cancelled, text));
            }
            _ => self.mark_stopped(slot),
        }
    }

    /// What it means when this attempt returns None.
    fn nothing_means(&self, slot: usize) -> NothingMeans {
        let means =
            |plan: &mut PlannedRun| python_tool(&plan.candidates[slot]).map(|tool| tool.nothing_means);
        self.with_plan(means).flatten().unwrap_or(NothingMeans::Success)
    }

    pub(super) fn tool_name(&self, slot: usize) -> Arc<str> {
        self.with_plan(|plan| plan.candidates[slot].spec().name.clone()).unwrap_or_else(|| Arc::from("?"))
    }
}

/// The execution ends while this attempt is still going on: it must not report any more.
pub fn detach(attempt: &mut Attempt, py: Python<'_>, port: &LoopBridge, candidate: &Candidate) {
    let permits = &mut attempt.permits;
    let mut leftover = || leftover(permits.take(), candidate);
    match std::mem::take(&mut attempt.state) {
        AttemptState::Native { job, key, .. } => {
            drop(port.forget_mail(key));
            job.abort();
        }
        AttemptState::Task(task) => {
            let kept = Child::outlives_call(task.bind(py), leftover());
            if let Err(error) = kept.and_then(|()| port.keep_until_done(task.bind(py))) {
                error.write_unraisable(py, None);
            }
        }
        waiting => waiting.give_up(py, Some(port), leftover),
    }
}
