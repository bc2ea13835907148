//! What an execution knows, behind one lock.

use super::direct::Direct;
use crate::bindings::blocks::Blocks;
use crate::bindings::job::Job;
use crate::bindings::loop_bridge::{DeadlineKey, LoopBridge, LoopMailbox};
use crate::bindings::pool::Reply;
use crate::bindings::python_tool::Prepared;
use crate::bindings::value;
use crate::error::HubError;
use crate::execute::Fate;
use crate::hub::Plan;
use crate::limit::{Permits, Waiting};
use crate::registry::Candidate;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    New,
    Running,
    /// The caller was cancelled; the others are given their grace.
    Settling,
    Done,
}

/// What the driver does next.
#[expect(
    clippy::large_enum_variant,
    reason = "taken apart at once; a box would cost each call an allocation"
)]
pub enum Next {
    /// Tell this attempt to stop.
    Stop(usize, Doing),
    /// Check the arguments and pass the limits.
    Begin(Start, Py<PyAny>),
    /// The limits are passed: run it.
    Launch(Start, Prepared),
    /// A plain function gave a coroutine: await it.
    Await(Start, Py<PyAny>),
    Wait,
    Conclude(Ended),
}

/// An attempt that is to be started.
pub struct Start {
    pub slot: usize,
    pub candidate: Arc<Candidate>,
    /// No other one runs beside it: it may run inside the caller's task.
    pub alone: bool,
    pub at: Instant,
}

/// Where an attempt is.
#[derive(Default)]
pub enum Doing {
    #[default]
    Nothing,
    /// Waiting for a free place.
    Queueing { way: Waiting, key: u64 },
    /// Stepped inside the caller's task.
    InPlace,
    /// An asyncio task of its own.
    Task(Py<PyAny>),
    /// A sync function in the pool.
    Thread { reply: Box<Reply>, key: u64 },
    /// What such a function gave is a coroutine, which waits to be awaited in the caller's context.
    Coroutine(Py<PyAny>),
    /// A tool in Rust.
    Native { cancel: CancellationToken, job: Arc<Job>, key: u64, held: Arc<AtomicBool> },
}

/// One candidate's attempt and what came of it.
#[derive(Default)]
pub struct Attempt {
    pub doing: Doing,
    pub prepared: Option<Prepared>,
    pub permits: Option<Permits>,
    pub value: Option<Py<PyAny>>,
    pub error: Option<Box<HubError>>,
    /// Sentences about what was not wrong enough to be refused.
    pub warnings: Vec<String>,
    pub exception: Option<Box<PyErr>>,
    /// The content of an MCP server's answer.
    pub blocks: Option<Box<Blocks>>,
}

impl Attempt {
    /// The execution ends while this is still going on: it must not report any more.
    pub fn disown(&self, py: Python<'_>, port: &LoopBridge) {
        match &self.doing {
            Doing::Queueing { key, .. } => drop(port.forget_mail(*key)),
            Doing::Thread { reply, key } => {
                drop(port.forget_mail(*key));
                reply.abandon(py);
            }
            Doing::Native { job, key, .. } => {
                drop(port.forget_mail(*key));
                job.abort();
            }
            Doing::Task(task) => {
                if let Err(error) = port.keep_until_done(task.bind(py)) {
                    error.write_unraisable(py, None);
                }
            }
            Doing::Coroutine(coroutine) => value::discard(coroutine.bind(py)),
            Doing::Nothing | Doing::InPlace => {}
        }
    }
}

/// What is left when an execution is over.
pub struct Ended {
    pub plan: Option<Box<Plan>>,
    pub early: Option<Box<Early>>,
    pub attempts: SmallVec<[Attempt; 2]>,
    pub reraise: Option<Box<PyErr>>,
    pub timer: Option<DeadlineKey>,
    pub port: Option<Py<LoopBridge>>,
    /// When the last answer came, if that ended it.
    pub at: Option<Instant>,
}

/// Nobody could be found to be run: what was asked for, and why there is nobody.
pub struct Early {
    pub what: String,
    pub error: HubError,
}

/// Kept small, because it is moved: what is big or rare is in a box.
pub struct State {
    pub phase: Phase,
    pub plan: Option<Box<Plan>>,
    early: Option<Box<Early>>,
    pub args: Py<PyAny>,
    pub attempts: SmallVec<[Attempt; 2]>,
    /// Attempts that were let in, or gave a coroutine, and wait to go on in the caller's context.
    entered: SmallVec<[usize; 2]>,
    pub direct: Option<Direct>,
    pub timer: Option<DeadlineKey>,
    pub waiter: Option<Py<PyAny>>,
    pub port: Option<Py<LoopBridge>>,
    pub reraise: Option<Box<PyErr>>,
    /// When the last answer came, if that ended it.
    pub ended_at: Option<Instant>,
}

impl State {
    pub fn new(plan: Result<Box<Plan>, HubError>, what: &str, args: Py<PyAny>) -> Self {
        let (plan, early) = match plan {
            Ok(plan) => (Some(plan), None),
            Err(error) => (None, Some(Box::new(Early { what: what.to_owned(), error }))),
        };
        let count = plan.as_ref().map_or(0, |plan| plan.candidates.len());
        State {
            phase: Phase::New,
            plan,
            early,
            args,
            attempts: std::iter::repeat_with(Attempt::default).take(count).collect(),
            entered: SmallVec::new(),
            direct: None,
            timer: None,
            waiter: None,
            port: None,
            reraise: None,
            ended_at: None,
        }
    }

    pub fn next_to_do(&mut self, py: Python<'_>) -> Next {
        if let Some((slot, doing)) = self.next_stop(py) {
            return Next::Stop(slot, doing);
        }
        let Some(plan) = self.plan.as_mut().filter(|plan| !plan.run.is_finished()) else {
            return Next::Conclude(self.end());
        };
        // One that was stopped before its turn came is not started any more.
        while !self.entered.is_empty() {
            let slot = self.entered.remove(0);
            if plan.run.fate(slot) != Fate::Running {
                continue;
            }
            if let Some(prepared) = self.attempts[slot].prepared.take() {
                return Next::Launch(start(plan, slot), prepared);
            }
            if let Doing::Coroutine(coroutine) = std::mem::take(&mut self.attempts[slot].doing) {
                return Next::Await(start(plan, slot), coroutine);
            }
        }
        while let Some(slot) = plan.run.next_start() {
            if plan.run.fate(slot) == Fate::Running {
                return Next::Begin(start(plan, slot), self.args.clone_ref(py));
            }
        }
        Next::Wait
    }

    /// Time has passed: what is due expires.
    pub fn tick(&mut self, now: Instant) {
        let Some(plan) = self.plan.as_mut() else { return };
        for (slot, attempt) in self.attempts.iter().enumerate() {
            if let Doing::Native { held, .. } = &attempt.doing {
                plan.run.set_waiting(slot, held.load(Ordering::Relaxed));
            }
        }
        plan.run.tick(now);
    }

    /// Whether [`Self::next_to_do`] would do anything but wait.
    pub fn has_work(&self) -> bool {
        let Some(plan) = &self.plan else { return true };
        plan.run.is_finished() || plan.run.has_starts() || !self.entered.is_empty()
    }

    /// The next attempt that shall stop, and where it is.
    pub fn next_stop(&mut self, py: Python<'_>) -> Option<(usize, Doing)> {
        let slot = self.plan.as_mut()?.run.next_stop()?;
        let attempt = &mut self.attempts[slot];
        let doing = match &attempt.doing {
            // These end by themselves and report then.
            Doing::Task(task) => Doing::Task(task.clone_ref(py)),
            Doing::Native { cancel, job, key, held } => {
                Doing::Native { cancel: cancel.clone(), job: job.clone(), key: *key, held: held.clone() }
            }
            Doing::InPlace => Doing::InPlace,
            // These are over as soon as we let go of them.
            _ => std::mem::take(&mut attempt.doing),
        };
        Some((slot, doing))
    }

    /// The limits let this attempt in. One that was stopped meanwhile gives its place back.
    pub fn let_in(&mut self, slot: usize, permits: Permits) -> Option<Permits> {
        let wanted = self.plan.as_ref().is_some_and(|plan| {
            // Let in at the very moment at which its time is over, it is not started any more.
            let late = plan.run.expires(slot).is_some_and(|at| at <= Instant::now());
            plan.run.fate(slot) == Fate::Running && !late
        });
        if !wanted {
            return Some(permits);
        }
        self.attempts[slot].doing = Doing::Nothing;
        self.attempts[slot].permits = Some(permits);
        if let Some(plan) = self.plan.as_mut() {
            plan.run.set_waiting(slot, false);
        }
        self.entered.push(slot);
        None
    }

    /// A plain function gave a coroutine. It is given back when the policy does not wait for it any more.
    pub fn take_up(&mut self, slot: usize, coroutine: Py<PyAny>) -> Option<Py<PyAny>> {
        if self.plan.as_ref().is_none_or(|plan| plan.run.fate(slot) != Fate::Running) {
            return Some(coroutine);
        }
        self.attempts[slot].doing = Doing::Coroutine(coroutine);
        self.entered.push(slot);
        None
    }

    pub fn cancel_run(&mut self, now: Instant) {
        if let Some(plan) = self.plan.as_mut() {
            plan.run.cancel(now);
        }
    }

    pub fn end(&mut self) -> Ended {
        self.phase = Phase::Done;
        Ended {
            plan: self.plan.take(),
            early: self.early.take(),
            attempts: std::mem::take(&mut self.attempts),
            reraise: self.reraise.take(),
            timer: self.timer.take(),
            port: self.port.take(),
            at: self.ended_at.take(),
        }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.args)?;
        visit.call(&self.waiter)?;
        visit.call(&self.port)?;
        if let Some(direct) = &self.direct {
            direct.traverse(visit)?;
        }
        for attempt in &self.attempts {
            visit.call(&attempt.value)?;
            match &attempt.prepared {
                Some(Prepared::Keywords(kwargs)) => visit.call(kwargs)?,
                Some(Prepared::Value(value)) => visit.call(value)?,
                Some(Prepared::Native(_)) | None => {}
            }
            if let Doing::Task(object) | Doing::Coroutine(object) = &attempt.doing {
                visit.call(object)?;
            }
        }
        Ok(())
    }
}

fn start(plan: &Plan, slot: usize) -> Start {
    Start {
        slot,
        candidate: plan.candidates[slot].clone(),
        alone: plan.run.is_sequential(),
        at: plan.run.started(slot),
    }
}

/// Where mail for an attempt is sent: the loop's mailbox and the attempt's key.
pub struct Address {
    pub mailbox: Arc<LoopMailbox>,
    pub key: u64,
}
