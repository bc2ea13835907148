//! Drives a [`Run`] on tokio.

use super::Run;
use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::limit::{self, Gate, Passage, Permits};
use crate::model::{Arguments, ToolOutput};
use crate::registry::Candidate;
use crate::stats::CandidateStats;
use crate::tool::CallContext;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A candidate and the gates it has to pass.
#[derive(Clone)]
pub struct Job {
    pub candidate: Arc<Candidate>,
    pub gates: Vec<Arc<Gate>>,
}

pub type Answer = Result<ToolOutput, HubError>;

/// Runs to the end and gives each candidate's answer; `None` for those that gave none.
pub async fn drive(
    run: &mut Run,
    jobs: &[Job],
    args: Arc<Arguments>,
    cancel: &CancellationToken,
) -> Vec<Option<Answer>> {
    let mut answers: Vec<Option<Answer>> = jobs.iter().map(|_| None).collect();
    // A call that is dropped tells its tools: they may have work elsewhere that only their token reaches.
    let mut tokens: Vec<Option<DropGuard>> = jobs.iter().map(|_| None).collect();
    let mut begun = Begun::default();
    // Dropping the set aborts whatever outlived its grace.
    let mut tasks = JoinSet::new();
    let mut slots: HashMap<task::Id, usize> = HashMap::new();
    let (entered, mut entries) = mpsc::unbounded_channel();
    let mut cancelled = false;
    loop {
        if !cancelled && cancel.is_cancelled() {
            cancelled = true;
            run.cancel(now());
        }
        while let Some(slot) = run.next_start() {
            match jobs[slot].candidate.tool.check(&args, true) {
                Err(refusal) => {
                    answers[slot] = Some(Err(refusal));
                    run.rejected(slot, now());
                }
                Ok(fitting) => {
                    let args = fitting.map_or_else(|| args.clone(), Arc::new);
                    begun.begin(&jobs[slot].candidate.stats, now());
                    let deadline = run.expires(slot).unwrap_or_else(now);
                    let token = CancellationToken::new();
                    tokens[slot] = Some(token.clone().drop_guard());
                    let context = CallContext::new(deadline, token);
                    run.set_waiting(slot, !jobs[slot].gates.is_empty());
                    let entered = entered.clone();
                    let tell = move || {
                        // A driver that has gone needs no telling.
                        let _ = entered.send(slot);
                    };
                    let Job { candidate, gates } = jobs[slot].clone();
                    let attempt = attempt(candidate, gates, args, context, tell);
                    slots.insert(tasks.spawn(attempt).id(), slot);
                }
            }
        }
        while let Some(slot) = run.next_stop() {
            // Dropping the guard fires its token.
            tokens[slot] = None;
        }
        if run.is_finished() {
            begun.0.clear();
            return answers;
        }
        let wake_at = run.wake_at().map(tokio::time::Instant::from_std);
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !cancelled => {}
            Some(slot) = entries.recv() => run.set_waiting(slot, false),
            Some(joined) = tasks.join_next_with_id() => {
                let (id, answer) = joined.unwrap_or_else(|broken| (broken.id(), Err(panicked())));
                if let Some(slot) = slots.remove(&id) {
                    tokens[slot].take().map(DropGuard::disarm);
                    // What comes too late to count changes nothing any more.
                    if report(run, slot, &answer) {
                        answers[slot] = Some(answer);
                    }
                }
            }
            () = sleep_until(wake_at) => run.tick(now()),
        }
    }
}

/// The candidates whose attempts have begun. When the call is dropped half-way, none of them stays marked as being probed.
#[derive(Default)]
struct Begun(Vec<Arc<CandidateStats>>);

impl Begun {
    fn begin(&mut self, stats: &Arc<CandidateStats>, now: Instant) {
        stats.begin(now);
        self.0.push(stats.clone());
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.iter().for_each(|stats| stats.abandon());
    }
}

fn report(run: &mut Run, slot: usize, answer: &Answer) -> bool {
    match answer {
        Ok(_) => run.succeeded(slot, now()),
        Err(error) => run.failed(slot, error.proves_nothing_happened(), now()),
    }
}

async fn attempt(
    candidate: Arc<Candidate>,
    gates: Vec<Arc<Gate>>,
    args: Arc<Arguments>,
    context: CallContext,
    entered: impl FnOnce(),
) -> Answer {
    let permits = enter(&candidate, gates, &context).await?;
    if now() >= context.deadline {
        // Let in at the very moment at which its time is over: it is not started any more.
        drop(permits);
        context.cancel.cancelled().await;
        return Err(gave_up());
    }
    entered();
    let _permits = permits;
    let output = candidate.tool.call(&args, &context).await?;
    match output.failure() {
        Some(reason) => Err(HubError::new(
            ErrorKind::ToolError,
            format!("Tool '{}' failed: {reason}", clip(&candidate.spec().name)),
        )),
        None => Ok(output),
    }
}

async fn enter(
    candidate: &Candidate,
    gates: Vec<Arc<Gate>>,
    context: &CallContext,
) -> Result<Permits, HubError> {
    let (granted, grant) = oneshot::channel();
    let full = || overloaded(&candidate.spec().name);
    // The way is dropped with this future: giving up frees the place in the queue.
    let _way = match limit::pass(gates, move |permits| drop(granted.send(permits))) {
        Passage::Through(permits) => return Ok(permits),
        Passage::Full => return Err(full()),
        Passage::Waiting(way) => way,
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(gave_up()),
        granted = grant => granted.ok().flatten().ok_or_else(full),
    }
}

fn gave_up() -> HubError {
    HubError::new(ErrorKind::Cancelled, "Cancelled while waiting for its turn.")
        .with_outcome(Outcome::NotSent)
}

fn panicked() -> HubError {
    HubError::new(ErrorKind::ToolError, "The tool broke down (a panic in its code).")
        .with_outcome(Outcome::Unknown)
}

/// Too many wait for the same tool, source or hub.
pub fn overloaded(tool: &str) -> HubError {
    HubError::new(
        ErrorKind::Overloaded,
        format!(
            "Tool '{}' is overloaded: too many calls wait for a free place; try again later.",
            clip(tool)
        ),
    )
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
