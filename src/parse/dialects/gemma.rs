//! FunctionGemma and Gemma 4: `call:name{key:<escape>text<escape>,n:5}`, each with its own tokens. With many tools at hand the model
//! lapses into parentheses, `call:name(key=5)`, or forgets the word before the name.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::schemas;

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
    let marked = cx.input.literal(at, &["call:", ":"]).await;
    let from = at + marked.map_or(0, |index| ["call:", ":"][index].len());
    let Some((to, 0 | 1)) = cx.input.find(from, &["{", "(", "<", "\n"]).await else { return ReadOutcome::No };
    let name = cx.input.slice(from, to).trim().to_owned();
    let is_name = |name: &str| name.bytes().all(|byte| python::names(byte) || matches!(byte, b'/' | b':'));
    if marked != Some(0) && (name.is_empty() || !is_name(&name)) {
        return ReadOutcome::No;
    }
    // The model puts the server of a tool, or where it comes from, before its name.
    let parts = name.match_indices([':', '.', '/']).map(|(at, _)| &name[at + 1..]);
    let known = match cx.tools.parameters(&name) {
        Some(_) => None,
        None => schemas::only_known(&*cx.tools, parts),
    };
    let name = known.unwrap_or(&name);
    let named = NamedCall { notation: Notation::Quoted(quote), ..NamedCall::new(name, format) };
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
