//! FunctionGemma and Gemma 4: `call:name{key:<escape>text<escape>,n:5}`, each with its own tokens.

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::extent::Notation;
use crate::parse::machine::Cx;
use crate::parse::read::arguments::{self, Named};

pub(super) const FUNCTIONGEMMA: Dialect =
    Dialect { name: "functiongemma", markers: &[Marker::new("<start_function_call>", function_gemma)] };
pub(super) const GEMMA4: Dialect =
    Dialect { name: "gemma4", markers: &[Marker::new("<|tool_call>", gemma4)] };

fn function_gemma(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(read(
        cx,
        opening,
        "functiongemma",
        "<escape>",
        &["<end_function_call>", "<start_function_call>"],
    ))
}

fn gemma4(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(read(cx, opening, "gemma4", "<|\"|>", &["<tool_call|>", "<|tool_call>"]))
}

/// `stops`: the token that ends a call, and the one that begins the next.
async fn read(
    cx: &Cx,
    opening: Opening,
    format: &'static str,
    quote: &'static str,
    stops: &[&'static str],
) -> Read {
    let at = cx.tape.skip_space(opening.after).await;
    if cx.tape.literal(at, &["call:"]).await.is_none() {
        return Read::No;
    }
    let from = at + "call:".len();
    let Some((to, 0)) = cx.tape.find(from, &["{", "<", "\n"]).await else { return Read::No };
    let name = cx.tape.slice(from, to).trim().to_owned();
    let named = Named { notation: Notation::Quoted(quote), ..Named::new(&name, format) };
    let end = arguments::read(cx, to, named, stops).await;
    let close = cx.tape.skip_space(end).await;
    match cx.tape.literal(close, &stops[..1]).await {
        Some(_) => {
            let end = close + stops[0].len();
            cx.tape.extend(end, None);
            Read::Block(end)
        }
        None => {
            cx.close(end, false);
            Read::Block(end)
        }
    }
}
