//! What an execution knows, behind one lock.

use super::direct::Direct;
use crate::bindings::blocks::Blocks;
use crate::bindings::mailbox::Mailbox;
use crate::bindings::pool::Reply;
use crate::bindings::port::{DeadlineKey, LoopPort};
use crate::bindings::python_tool::Prepared;
use crate::error::HubError;
use crate::execute::Fate;
use crate::hub::Plan;
use crate::limit::{Permits, Waiting};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::AbortHandle;
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
pub enum Next {
    /// Check the arguments and pass the limits.
    Begin(usize),
    /// The limits are passed: run it.
    Launch(usize),
    Wait,
    Conclude,
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
    Thread { reply: Reply, key: u64 },
    /// A tool in Rust, on tokio.
    Native { cancel: CancellationToken, abort: AbortHandle, key: u64 },
}

/// One candidate's attempt and what came of it.
#[derive(Default)]
pub struct Attempt {
    pub doing: Doing,
    pub prepared: Option<Prepared>,
    pub permits: Option<Permits>,
    pub value: Option<Py<PyAny>>,
    pub error: Option<HubError>,
    pub exception: Option<PyErr>,
    /// The content of an MCP server's answer.
    pub blocks: Option<Blocks>,
}

impl Attempt {
    /// The execution ends while this is still going on: it must not report any more.
    pub fn disown(&self, py: Python<'_>, port: &LoopPort) {
        match &self.doing {
            Doing::Queueing { key, .. } => drop(port.forget_mail(*key)),
            Doing::Thread { reply, key } => {
                drop(port.forget_mail(*key));
                reply.abandon(py);
            }
            Doing::Native { abort, key, .. } => {
                drop(port.forget_mail(*key));
                abort.abort();
            }
            Doing::Task(task) => {
                if let Err(error) = port.adopt(task.bind(py)) {
                    error.write_unraisable(py, None);
                }
            }
            Doing::Nothing | Doing::InPlace => {}
        }
    }
}

/// What is left when an execution is over.
pub struct Ended {
    pub plan: Option<Plan>,
    pub early: Option<HubError>,
    pub what: String,
    pub attempts: SmallVec<[Attempt; 2]>,
    pub reraise: Option<PyErr>,
}

pub struct State {
    pub phase: Phase,
    pub plan: Option<Plan>,
    /// Nobody could be found to be run.
    early: Option<HubError>,
    what: String,
    pub args: Py<PyAny>,
    pub attempts: SmallVec<[Attempt; 2]>,
    /// Attempts that were let in and wait to be launched in the caller's context.
    entered: SmallVec<[usize; 2]>,
    pub direct: Option<Direct>,
    pub timer: Option<DeadlineKey>,
    pub waiter: Option<Py<PyAny>>,
    pub port: Option<Py<LoopPort>>,
    pub reraise: Option<PyErr>,
}

impl State {
    pub fn new(plan: Result<Plan, HubError>, what: &str, args: Py<PyAny>) -> Self {
        let (plan, early) = match plan {
            Ok(plan) => (Some(plan), None),
            Err(error) => (None, Some(error)),
        };
        let count = plan.as_ref().map_or(0, |plan| plan.candidates.len());
        State {
            phase: Phase::New,
            // A plan knows its name; only a failure needs to remember what was asked for.
            what: if plan.is_some() { String::new() } else { what.to_owned() },
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
        }
    }

    pub fn next_to_do(&mut self) -> Next {
        let Some(plan) = self.plan.as_mut() else { return Next::Conclude };
        if plan.run.is_finished() {
            return Next::Conclude;
        }
        // One that was stopped before its turn came is not started any more.
        while !self.entered.is_empty() {
            let slot = self.entered.remove(0);
            if plan.run.fate(slot) == Fate::Running {
                return Next::Launch(slot);
            }
        }
        while let Some(slot) = plan.run.next_start() {
            if plan.run.fate(slot) == Fate::Running {
                return Next::Begin(slot);
            }
        }
        Next::Wait
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
            what: std::mem::take(&mut self.what),
            attempts: std::mem::take(&mut self.attempts),
            reraise: self.reraise.take(),
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
            if let Doing::Task(task) = &attempt.doing {
                visit.call(task)?;
            }
        }
        Ok(())
    }
}

/// Where mail for an attempt is sent: the loop's mailbox and the attempt's key.
pub struct Address {
    pub mailbox: Arc<Mailbox>,
    pub key: u64,
}
