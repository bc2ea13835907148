//! Beginning an attempt: check the arguments, pass the limits, run it where it belongs.

use super::direct::InPlaceCoroutine;
use super::state::{AttemptEntrance, AttemptStart, AttemptState, ReadyAttempt};
use super::{Execution, content_of};
use crate::drivers::awaiting::{iterator_of, new_awaitable};
use crate::drivers::candidate_task::CandidateTask;
use crate::prelude::*;
use crate::runtime::bridge::start_job;
use crate::runtime::call_scope::{self, EnclosingCalls};
use crate::runtime::loop_bridge::{LoopMessage, MailAddress};
use crate::runtime::pool::{self, CallTerms, FunctionCall, PoolKind};
use crate::runtime::process;
use crate::values::arguments::argument_checks::{self, CheckPass, PreparedArguments};
use crate::values::arguments::callable::{Callable, python_tool};
use crate::values::arguments::given::{prepare, warnings};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll, Waker};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use toolhub::cassette::OpenRecording;
use toolhub::hub::PlannedRun;
use toolhub::identity::CallContent;
use toolhub::model::Arguments;
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
            let args = state.approved.as_ref().map_or(Ok(args), |approved| approved[slot].as_deref());
            let args = args.map(|args| args.clone_ref(py)).map_err(HubError::clone);
            (AttemptStart::new(plan, slot), plan.run.started(slot), args)
        };
        let mut pass = CheckPass::new(this.checks);
        let passed_on = this.extras.as_ref().and_then(|extras| extras.passed_on.as_ref());
        pass.passed_on = passed_on.map(|passed_on| passed_on.clone_ref(py));
        let candidate = &start.candidate;
        let prepared = match args.and_then(|args| prepare(candidate, args.bind(py), &mut pass)) {
            Ok(prepared) => prepared,
            Err(refusal) => {
                this.state.lock().attempts[slot].error = Some(Box::new(refusal));
                this.with_plan(|plan| plan.run.rejected(slot, Instant::now()));
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
        let hub = this.hub.get().core();
        match this.with_plan(|plan| plan.is_free(hub, slot)) {
            Some(true) => Self::launch(slf, (start, prepared)),
            _ => Self::enter(slf, (start, prepared)),
        }
    }

    /// Passes the limits, is put on a cassette, and has its row written.
    fn enter(slf: &Bound<'_, Self>, ready: ReadyAttempt) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), ready.0.slot);
        let args = {
            let state = this.state.lock();
            let wants_content = state.plan.as_ref().is_some_and(|plan| plan.wants_content(slot));
            state.args.as_ref().filter(|_| wants_content).map(|args| args.clone_ref(py))
        };
        // What is not JSON is told as a text.
        let told = |value: &Bound<'_, PyAny>| PyResult::Ok(json::with_texts(value));
        let content = args.map(|args| content_of(args.bind(py), this.extras.as_deref(), told)).transpose()?;
        let is_large = content.as_ref().is_some_and(CallContent::is_large);
        let lease = is_large.then(process::handle).transpose()?;
        let around = call_scope::current(py)?;
        let (hub, around) = (this.hub.get().core(), (around.lender, around.outer));
        let Some(passing) = this.with_plan(|plan| plan.admit(hub, slot, content, around).boxed()) else {
            return Ok(());
        };
        Self::pass(slf, ready, Box::new(AttemptEntrance { passing, lease, address: None }))
    }

    /// Goes as far as it can, and on from there when the mailbox says so.
    pub(super) fn pass(
        slf: &Bound<'_, Self>,
        ready: ReadyAttempt,
        mut entrance: Box<AttemptEntrance>,
    ) -> PyResult<()> {
        let (this, slot) = (slf.get(), ready.0.slot);
        let address = Self::address(slf, slot)?;
        let admitted = {
            let _inside = entrance.lease.as_deref().map(Handle::enter);
            let waker = Waker::from(Arc::new(address.sender.clone()));
            kill_point();
            entrance.passing.as_mut().poll(&mut Context::from_waker(&waker))
        };
        match admitted {
            Poll::Pending => {
                entrance.address = Some(address);
                this.state.lock().attempts[slot].state = AttemptState::Waiting(entrance, ready.1);
                Ok(())
            }
            Poll::Ready(Ok(permits)) => {
                this.state.lock().attempts[slot].permits = Some(permits);
                Self::launch(slf, ready)
            }
            Poll::Ready(Err(error)) => {
                this.fail(slot, error);
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

    /// Where mail for an attempt is sent.
    fn address(slf: &Bound<'_, Self>, slot: usize) -> PyResult<MailAddress> {
        Ok(Self::port(slf)?.get().address_of(slf, slot))
    }

    /// Calls the tool.
    fn launch(slf: &Bound<'_, Self>, (start, prepared): ReadyAttempt) -> PyResult<()> {
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
        let slot = start.slot;
        let is_heard = |plan: &mut PlannedRun| plan.recorded.is_some() || plan.followers.is_some();
        let is_heard = self.with_plan(is_heard).unwrap_or_default();
        if !is_heard && self.state.lock().attempts[slot].permits.is_none() {
            return Ok(None);
        }
        let around = call_scope::current(py)?;
        let told = is_heard.then(|| call_scope::progress(py)).transpose()?.flatten();
        let state = self.state.lock();
        let Some(plan) = &state.plan else { return Ok(None) };
        let permits = state.attempts[slot].permits.as_ref();
        let lender = permits.map(|permits| permits.lender(around.lender.clone()));
        let outer = plan.recordings.get(&slot).map(OpenRecording::as_outer);
        let heard = plan.heard(slot, told);
        drop(state);
        around.within(lender, outer).heard_by(py, heard).map(Some)
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
        let child =
            new_awaitable(py, CandidateTask::new(slf.clone().unbind(), slot, awaitable.unbind(), None))?;
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
        match pool::submit(py, PoolKind::Tools, call, Self::address(slf, slot)?) {
            Ok(call) => {
                this.state.lock().attempts[slot].state = AttemptState::Thread(Box::new(call));
                Ok(())
            }
            Err(error) => Self::raised_in_place(slf, slot, error),
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
        let address = Self::address(slf, slot)?;
        if let Some(extras) = &this.extras {
            context.extras.meta = extras.meta.clone();
            context.extras.principal = extras.principal.clone();
            if extras.wants_progress {
                context.extras.progress = call_scope::progress(slf.py())?;
            }
            let sender = address.sender.clone();
            let tell: OnProgress = Arc::new(move |news| sender.send(LoopMessage::Retried(news.clone())));
            context.retried = extras.watch.as_ref().map(|_| tell);
        }
        let told = context.extras.progress.take();
        context.extras.progress = this.with_plan(|plan| plan.heard(slot, told)).flatten();
        let (is_light, sender) = (args.is_light(), address.sender.clone());
        let call = async move {
            let answer = AssertUnwindSafe(candidate.tool.call(&args, &context)).catch_unwind().await;
            let answer = answer.unwrap_or_else(|_| {
                let text = "Internal error: the call failed inside toolhub; please report it.";
                Err(HubError::new(ErrorKind::ToolError, text))
            });
            sender.send(LoopMessage::Answered(Box::new(answer)));
        };
        // Large arguments are serialised off the event loop, without the GIL.
        let job = start_job(call, is_light)?;
        this.state.lock().attempts[slot].state = AttemptState::Native { cancel, job, _address: address };
        Ok(())
    }
}
