//! A call of a candidate on tokio, recorded or replayed if there is a tape.

use crate::error::HubError;
use crate::model::{Arguments, ToolOutput};
use crate::registry::Candidate;
use crate::tape::{CallOnTape, HubTape, LineKind, Recording, TapeStart, TapedAnswer, Taping};
use crate::tool::{CallContext, OnProgress};
use std::sync::Arc;
use std::time::Instant;

/// A call that has passed the limits: what becomes of it is known before its row in the ledger is written, because a call
/// that a recording answers has no effects.
pub enum TapedCall {
    /// There is no tape: the tool is called.
    Off,
    /// The tool is called, and its answer written down.
    Recorded(Box<Taping>),
    /// This was recorded, and answers.
    Replayed(HubTape, Arc<Recording>),
    /// Nothing that was recorded fits.
    Missed(Box<HubError>),
}

impl TapedCall {
    /// Asks the tape of the call. `begun` is the beginning of the execution that this is an attempt of.
    pub fn begin(
        tape: Option<HubTape>,
        candidate: &Candidate,
        args: &Arguments,
        principal: &str,
        begun: Instant,
    ) -> Self {
        let Some(tape) = tape else { return TapedCall::Off };
        let (name, label) = (&candidate.spec().name, candidate.label());
        let arguments = args.as_value().clone();
        let listed = candidate.server.as_deref().map(|server| (server, candidate.spec()));
        let kind = LineKind::Call;
        let execution = Some(begun);
        match tape.begin(CallOnTape {
            kind,
            name,
            candidate: &label,
            arguments,
            principal,
            execution,
            inside: None,
            listed,
        }) {
            TapeStart::Missed(miss) => TapedCall::Missed(Box::new(miss)),
            TapeStart::Recording(taping) => TapedCall::Recorded(Box::new(taping)),
            TapeStart::Replayed(recording) => TapedCall::Replayed(tape, recording),
        }
    }

    /// What answers in the place of the tool.
    pub fn recording(&self) -> Option<&Arc<Recording>> {
        match self {
            TapedCall::Replayed(_, recording) => Some(recording),
            TapedCall::Off | TapedCall::Recorded(_) | TapedCall::Missed(_) => None,
        }
    }

    /// Whether the tool is called, so that something may happen.
    pub fn calls_tool(&self) -> bool {
        matches!(self, TapedCall::Off | TapedCall::Recorded(_))
    }

    /// The tool is not called after all, for this reason.
    pub fn refuse(self, error: &HubError) {
        if let TapedCall::Recorded(taping) = self {
            taping.end(&TapedAnswer::error(error.clone()));
        }
    }

    /// Calls the tool, unless a recording answers in its place.
    pub async fn call(
        self,
        candidate: &Candidate,
        args: &Arguments,
        context: &CallContext,
    ) -> Result<ToolOutput, HubError> {
        match self {
            TapedCall::Off => candidate.tool.call(args, context).await,
            TapedCall::Missed(miss) => Err(*miss),
            TapedCall::Recorded(taping) => recorded(*taping, candidate, args, context).await,
            TapedCall::Replayed(tape, recording) => replayed(&tape, &recording, context).await,
        }
    }
}

async fn recorded(
    taping: Taping,
    candidate: &Candidate,
    args: &Arguments,
    context: &CallContext,
) -> Result<ToolOutput, HubError> {
    let taping = Arc::new(taping);
    let mut context = context.clone();
    context.on_tape = Some(Arc::new(taping.as_outer()));
    context.extras.progress = context.extras.progress.map(|told| heard(told, &taping));
    let answer = candidate.tool.call(args, &context).await;
    let was_stopped = context.cancel.is_cancelled();
    drop(context);
    if let Some(mut taping) = Arc::into_inner(taping) {
        if was_stopped && answer.is_ok() {
            taping.came_late();
        }
        taping.end(&TapedAnswer::of(&answer));
    }
    answer
}

async fn replayed(
    tape: &HubTape,
    recording: &Recording,
    context: &CallContext,
) -> Result<ToolOutput, HubError> {
    if let Some(told) = &context.extras.progress {
        recording.progress.iter().for_each(|update| told(update));
    }
    if let Some(delay) = tape.delay(recording) {
        tokio::time::sleep(delay).await;
    }
    // The recorded order of answers is kept by the driver; see `super::drive`.
    match recording.given() {
        Some(answer) => answer,
        None => std::future::pending().await,
    }
}

/// Holds the recording weakly, so that a tool that keeps the function does not keep it open.
fn heard(told: OnProgress, taping: &Arc<Taping>) -> OnProgress {
    let taping = Arc::downgrade(taping);
    Arc::new(move |update| {
        if let Some(taping) = taping.upgrade() {
            taping.progressed(update);
        }
        told(update);
    })
}
