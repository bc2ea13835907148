//! FunctionGemma and Gemma 4: `call:name{key:<escape>text<escape>,n:5}`, each with its own tokens.

use crate::parse::context::ReadContext;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::parse::notation::Notation;
use crate::parse::read::arguments::{self, CallStops, NamedCall};

pub(super) const FUNCTIONGEMMA: CallDialect =
    CallDialect { name: "functiongemma", markers: &[Marker::new("<start_function_call>", function_gemma)] };
pub(super) const GEMMA4: CallDialect =
    CallDialect { name: "gemma4", markers: &[Marker::new("<|tool_call>", gemma4)] };

fn function_gemma(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(read(cx, opening, "functiongemma", "<escape>", "<end_function_call>", "<start_function_call>"))
}

fn gemma4(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(read(cx, opening, "gemma4", "<|\"|>", "<tool_call|>", "<|tool_call>"))
}

/// `ends` ends a call, and `next` starts the next one.
async fn read(
    cx: &ReadContext,
    opening: Opening,
    format: &'static str,
    quote: &'static str,
    ends: &'static str,
    next: &'static str,
) -> ReadOutcome {
    let at = cx.input.skip_space(opening.after).await;
    if cx.input.literal(at, &["call:"]).await.is_none() {
        return ReadOutcome::No;
    }
    let from = at + "call:".len();
    let Some((to, 0)) = cx.input.find(from, &["{", "<", "\n"]).await else { return ReadOutcome::No };
    let name = cx.input.slice(from, to).trim().to_owned();
    let named = NamedCall { notation: Notation::Quoted(quote), ..NamedCall::new(&name, format) };
    let end = arguments::read(cx, to, named, CallStops { ends: &[ends], next: &[next] }).await;
    let close = cx.input.skip_space(end).await;
    match cx.input.literal(close, &[ends]).await {
        Some(_) => {
            let end = close + ends.len();
            cx.input.extend(end, None);
            ReadOutcome::Block(end)
        }
        None => {
            cx.close(end, false);
            ReadOutcome::Block(end)
        }
    }
}
