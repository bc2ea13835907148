//! Beginning an attempt: check the arguments, pass the limits, run it where it belongs.

use super::Execution;
use super::direct::InPlaceCoroutine;
use super::state::{AttemptStart, AttemptState, ReadyAttempt};
use crate::drivers::awaiting::{iterator_of, new_awaitable};
use crate::drivers::child::Child;
use crate::prelude::*;
use crate::runtime::bridge::start_job;
use crate::runtime::call_scope::{self, EnclosingCalls};
use crate::runtime::loop_bridge::{LoopMailbox, LoopMessage, Mail};
use crate::runtime::pool::{self, CallTerms, FunctionCall, PoolKind};
use crate::values::arguments::argument_checks::{self, CheckPass, PreparedArguments};
use crate::values::arguments::callable::{Callable, python_tool};
use crate::values::arguments::given::{prepare, warnings};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tokio_util::sync::CancellationToken;
use toolhub::execute::overloaded;
use toolhub::hub::PlannedRun;
use toolhub::limit::{self, Passage, Permits};
use toolhub::model::Arguments;
use toolhub::notices::WaitingReports;
use toolhub::registry::Candidate;
use toolhub::system::kill_point;
use toolhub::tool::{CallContext, OnProgress, SentFlag};

impl Execution {
    /// A candidate that the arguments do not fit is never started.
    pub(super) fn start(slf: &Bound<'_, Self>, slot: usize) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let (start, at, args) = {
            let state = this.state.lock();
            let (Some(plan), Some(args)) = (state.plan.as_deref(), &state.args) else { return Ok(()) };
            let args = match &state.approved {
                None => Ok(args.clone_ref(py)),
                Some(approved) => {
                    approved[slot].as_ref().map(|args| args.clone_ref(py)).map_err(HubError::clone)
                }
            };
            (AttemptStart::new(plan, slot), plan.run.started(slot), args)
        };
        let mut pass = CheckPass::new(this.checks);
        let passed_on = this.extras.as_ref().and_then(|extras| extras.passed_on.as_ref());
        pass.passed_on = passed_on.map(|passed_on| passed_on.clone_ref(py));
        let candidate = &start.candidate;
        let prepared = match args.and_then(|args| prepare(candidate, args.bind(py), &mut pass)) {
            Ok(prepared) => prepared,
            Err(refusal) => {
                this.reject(slot, refusal);
                return Ok(());
            }
        };
        let warnings = warnings(py, candidate, &prepared);
        if !warnings.is_empty() {
            this.state.lock().attempts[slot].warnings = warnings;
        }
        if !pass.unchecked.is_empty() {
            argument_checks::report(py, &candidate.spec().name, &pass.unchecked);
            this.state.lock().attempts[slot].unchecked = pass.unchecked;
        }
        if this.is_late(Some(slot)) {
            return Ok(());
        }
        candidate.stats.begin(at);
        if this.watcher().is_some() {
            if let Err(interrupt) = this.tell_start(py, slot, None) {
                drop(this.interrupt(interrupt));
                return Ok(());
            }
            // Listeners take as long as they like.
            if this.is_late(None) {
                return Ok(());
            }
        }
        Self::enter(slf, (start, prepared))
    }

    /// Passes the limits.
    fn enter(slf: &Bound<'_, Self>, ready: ReadyAttempt) -> PyResult<()> {
        let (py, this, start) = (slf.py(), slf.get(), &ready.0);
        let (slot, candidate) = (start.slot, &start.candidate);
        let hub = this.hub.get().core();
        if hub.is_unlimited(candidate) {
            return Self::launch(slf, ready);
        }
        let (mailbox, key) = Self::address(slf, slot)?;
        let name = candidate.spec().name.clone();
        let notify = move |permits: Option<Permits>| {
            let admitted = permits.map(Some).ok_or_else(|| Box::new(overloaded(&name)));
            mailbox.push(Mail::Deliver(key, LoopMessage::MayGoOn(admitted)));
        };
        let around = call_scope::current(py)?;
        match limit::pass(hub.gates(candidate), around.lender.as_deref(), notify) {
            Passage::Through(permits) => {
                Self::port(slf)?.get().forget_mail(key);
                this.state.lock().attempts[slot].permits = Some(permits);
                Self::launch(slf, ready)
            }
            Passage::Waiting(way) => {
                let waiting = AttemptState::Waiting { way: Some(way), key, prepared: ready.1 };
                this.state.lock().attempts[slot].state = waiting;
                Ok(())
            }
            Passage::Full => {
                Self::port(slf)?.get().forget_mail(key);
                this.fail(slot, overloaded(&candidate.spec().name));
                Ok(())
            }
        }
    }

    /// Whether the deadline of the call leaves no time for an attempt; the policy then ends the call.
    pub(super) fn is_late(&self, prepared: Option<usize>) -> bool {
        let late = |plan: &mut PlannedRun| {
            plan.run.deadline_at().is_some() && plan.run.refuse_late(prepared, Instant::now())
        };
        self.with_plan(late) == Some(true)
    }

    /// The attempt is about to begin, on this thread. False if it was stopped, and must not.
    pub fn begin_here(&self, slot: usize) -> bool {
        self.with_plan(|plan| plan.run.begin_here(slot)) == Some(true)
    }

    /// What marks that the attempt has begun, for another thread.
    fn share_flag(&self, slot: usize) -> Arc<SentFlag> {
        self.with_plan(|plan| plan.run.share_flag(slot)).unwrap_or_default()
    }

    fn reject(&self, slot: usize, refusal: HubError) {
        let mut state = self.state.lock();
        state.attempts[slot].error = Some(Box::new(refusal));
        if let Some(plan) = state.plan.as_mut() {
            plan.run.rejected(slot, Instant::now());
        }
    }

    /// Where mail for an attempt is sent: the mailbox of the loop, and a key.
    pub(super) fn address(slf: &Bound<'_, Self>, slot: usize) -> PyResult<(Arc<LoopMailbox>, u64)> {
        let port = Self::port(slf)?;
        let key = port.get().expect_mail(slf, slot);
        Ok((port.get().mailbox.clone(), key))
    }

    /// Calls the tool; before that it is put on tape, and its row is written.
    pub(super) fn launch(slf: &Bound<'_, Self>, (start, prepared): ReadyAttempt) -> PyResult<()> {
        let written = |plan: &mut PlannedRun| {
            let recorder = plan.recorder.clone().filter(|_| plan.needs_row(start.slot));
            (plan.missed.is_some() || plan.recorded.is_some(), recorder)
        };
        let (is_taped, recorder) = slf.get().with_plan(written).unwrap_or_default();
        if is_taped && !Self::put_on_tape(slf, &start)? {
            return Ok(());
        }
        if let Some(recorder) = recorder {
            return Self::write_row(slf, &start, prepared, recorder);
        }
        kill_point();
        match (python_tool(&start.candidate), prepared) {
            (_, PreparedArguments::Native(args)) => {
                Self::launch_native(slf, start.slot, start.candidate, *args)
            }
            (Some(tool), prepared) if tool.is_async => {
                // A task begins with its first step, if nothing of the tool runs before.
                let begins_now = start.alone || !tool.begins_when_stepped;
                if begins_now && !slf.get().begin_here(start.slot) {
                    return Ok(());
                }
                match tool.invoke(slf.py(), &prepared) {
                    Ok(value) => Self::run_awaitable(slf, &start, &value),
                    Err(error) => Self::raised_in_place(slf, start.slot, error),
                }
            }
            (Some(tool), prepared) => Self::launch_thread(slf, &start, tool, prepared),
            (None, _) => Err(PyRuntimeError::new_err("a tool in Rust was given Python arguments")),
        }
    }

    /// What calls inside this attempt see around them; `None` if it is what this attempt sees.
    fn held(&self, py: Python<'_>, start: &AttemptStart) -> PyResult<Option<EnclosingCalls>> {
        let outer = {
            let state = self.state.lock();
            state.attempts[start.slot].taping.as_ref().map(|taping| taping.as_outer())
        };
        if outer.is_none() && self.hub.get().core().is_unlimited(&start.candidate) {
            return Ok(None);
        }
        let around = call_scope::current(py)?;
        let lender = {
            let state = self.state.lock();
            let permits = state.attempts[start.slot].permits.as_ref();
            permits.map(|permits| permits.lender(around.lender.clone()))
        };
        let is_changed = lender.is_some() || outer.is_some();
        Ok(is_changed.then(|| around.lending(lender).recorded_in(outer)))
    }

    /// Takes what an async function has given, or a plain one whose value is a coroutine.
    pub(super) fn run_awaitable(
        slf: &Bound<'_, Self>,
        start: &AttemptStart,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), start.slot);
        let awaitable = match iterator_of(value) {
            Ok(Some(awaitable)) => awaitable,
            Ok(None) => {
                this.returned(py, slot, value.clone().unbind());
                return Ok(());
            }
            Err(error) => return Self::raised_in_place(slf, slot, error),
        };
        let held = this.held(py, start)?.map(|around| Py::new(py, around)).transpose()?;
        if start.alone {
            let mut state = this.state.lock();
            state.attempts[slot].state = AttemptState::InPlace;
            state.direct = Some(InPlaceCoroutine::new(slot, awaitable.unbind(), held));
            return Ok(());
        }
        let child = new_awaitable(py, Child::new(slf.clone().unbind(), slot, awaitable.unbind(), None))?;
        let (port, tool) = (Self::port(slf)?, python_tool(&start.candidate));
        let name = &tool.ok_or_else(|| PyRuntimeError::new_err("a tool in Rust gave a coroutine"))?.name;
        let create = || port.get().create_task(py, child.into_any(), name);
        let (task, over) = call_scope::within(py, &held, create)?;
        if !over {
            this.state.lock().attempts[slot].state = AttemptState::Task(task.unbind());
        }
        Ok(())
    }

    fn launch_thread(
        slf: &Bound<'_, Self>,
        start: &AttemptStart,
        tool: &Callable,
        prepared: PreparedArguments,
    ) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), start.slot);
        let (value, kwargs) = prepared.for_thread(py)?;
        let around = this.held(py, start)?.map_or_else(|| call_scope::current(py), Ok)?;
        let terms = CallTerms {
            latest_start: this.with_plan(|plan| plan.run.latest_start(slot)).flatten(),
            tool: Some(start.candidate.stats.clone()),
            sent: Some(this.share_flag(slot)),
        };
        let call = FunctionCall { function: tool.call.bind(py).clone(), value, kwargs, around, terms };
        let (mailbox, key) = Self::address(slf, slot)?;
        match pool::submit(py, PoolKind::Tools, call, (mailbox, key)) {
            Ok(reply) => {
                this.state.lock().attempts[slot].state = AttemptState::Thread(Box::new(reply));
                Ok(())
            }
            Err(error) => {
                Self::port(slf)?.get().forget_mail(key);
                Self::raised_in_place(slf, slot, error)
            }
        }
    }

    fn launch_native(
        slf: &Bound<'_, Self>,
        slot: usize,
        candidate: Arc<Candidate>,
        args: Arguments,
    ) -> PyResult<()> {
        let this = slf.get();
        let known = this.with_plan(|plan| (plan.run.expires(slot), plan.freshness));
        let (expires, freshness) = known.unwrap_or_default();
        let cancel = CancellationToken::new();
        let mut context = CallContext::new(expires.unwrap_or_else(Instant::now), cancel.clone());
        context.freshness = freshness;
        context.sent = this.share_flag(slot);
        if !candidate.tool.marks_sent() && !context.sent.may_begin() {
            return Ok(());
        }
        let (mailbox, key) = Self::address(slf, slot)?;
        if let Some(extras) = &this.extras {
            context.extras.meta = extras.meta.clone();
            context.extras.principal = extras.principal.clone();
            context.extras.progress = extras.progress.as_ref().map(|_| reporter(mailbox.clone(), key));
            context.retried = extras.watch.as_ref().map(|_| retry_teller(mailbox.clone(), key));
        }
        let is_light = args.is_light();
        let call = async move {
            let answer = AssertUnwindSafe(candidate.tool.call(&args, &context)).catch_unwind().await;
            let answer = answer.unwrap_or_else(|_| {
                let text = "Internal error: the call failed inside toolhub; please report it.";
                Err(HubError::new(ErrorKind::ToolError, text))
            });
            mailbox.push(Mail::Deliver(key, LoopMessage::Answered(Box::new(answer))));
        };
        // Large arguments are serialised off the event loop, without the GIL.
        let job = start_job(call, is_light)?;
        this.state.lock().attempts[slot].state = AttemptState::Native { cancel, job, key };
        Ok(())
    }
}

/// Sends progress to the loop.
fn reporter(mailbox: Arc<LoopMailbox>, key: u64) -> OnProgress {
    let reports = Arc::new(WaitingReports::default());
    Arc::new(move |update| {
        if reports.add(update) {
            mailbox.push(Mail::Deliver(key, LoopMessage::Progress(reports.clone())));
        }
    })
}

fn retry_teller(mailbox: Arc<LoopMailbox>, key: u64) -> OnProgress {
    Arc::new(move |news| mailbox.push(Mail::Deliver(key, LoopMessage::Retried(news.clone()))))
}
