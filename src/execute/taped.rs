//! A call of a candidate on tokio, recorded or replayed if there is a tape.

use crate::error::HubError;
use crate::model::{Arguments, ToolOutput};
use crate::registry::Candidate;
use crate::tape::{self, CallOnTape, LineKind, Tape, TapeStart, TapedAnswer, Taping};
use crate::tool::{CallContext, OnProgress};
use std::sync::Arc;
use std::time::Instant;

/// Calls the tool, unless a recording answers in its place.
pub async fn call(
    candidate: &Candidate,
    args: &Arguments,
    context: &CallContext,
    begun: Instant,
) -> Result<ToolOutput, HubError> {
    match tape::current(None) {
        None => candidate.tool.call(args, context).await,
        Some(tape) => on_tape(&tape, candidate, args, (context, begun)).await,
    }
}

async fn on_tape(
    tape: &Arc<Tape>,
    candidate: &Candidate,
    args: &Arguments,
    (context, begun): (&CallContext, Instant),
) -> Result<ToolOutput, HubError> {
    let (name, label) = (&candidate.spec().name, candidate.label());
    let arguments = args.as_value().clone();
    let listed = candidate.server.as_deref().map(|server| (server, candidate.spec()));
    let call = CallOnTape {
        kind: LineKind::Call,
        name,
        candidate: &label,
        arguments,
        execution: Some(begun),
        listed,
    };
    match tape.begin(call) {
        TapeStart::Missed(miss) => Err(miss),
        TapeStart::Recording(taping) => {
            let taping = Arc::new(taping);
            let mut context = context.clone();
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
        TapeStart::Replayed(recording) => {
            if let Some(told) = &context.extras.progress {
                recording.progress.iter().for_each(|update| told(update));
            }
            if let Some(delay) = tape.delay(&recording) {
                tokio::time::sleep(delay).await;
            }
            match &recording.answer {
                TapedAnswer::Output(output) => Ok((**output).clone()),
                TapedAnswer::Error(error) => Err((**error).clone()),
                TapedAnswer::Stopped => std::future::pending().await,
            }
        }
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
