//! What every dialect may have around its calls: reasoning, code, and the tokens that end a turn.

use crate::parse::dialects::{Opening, Read, Reading};
use crate::parse::machine::Cx;

/// What opens reasoning, and what closes it.
const REASONING: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|channel>thought", "<channel|>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
];

/// Languages of a fence whose content may be a call that a model has put there.
const DATA: &[&str] =
    &["", "json", "jsonc", "json5", "xml", "tool_call", "tool_calls", "tool_code", "tool_use"];

/// Reasoning is text, whatever it quotes.
pub fn reasoning(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let opened = cx.tape.slice(opening.start, opening.after);
        let Some((_, close)) = REASONING.iter().find(|(open, _)| *open == opened) else { return Read::No };
        match cx.tape.text_until(opening.after, &[close]).await {
            Some((at, _)) => Read::Text(at + close.len()),
            None => Read::Text(cx.tape.end_so_far()),
        }
    })
}

/// Code is text, whatever it quotes.
pub fn code(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let Some((line_end, _)) = cx.tape.find(opening.after, &["\n", "`"]).await else { return Read::No };
        let language = cx.tape.slice(opening.after, line_end).trim().to_ascii_lowercase();
        if DATA.contains(&language.as_str()) || cx.tape.byte(line_end).await == Some(b'`') {
            return Read::Text(line_end);
        }
        match cx.tape.text_until(line_end, &["\n```"]).await {
            Some((at, _)) => Read::Text(at + 4),
            None => Read::Text(cx.tape.end_so_far()),
        }
    })
}

/// A token that ends something is no text once there was a call.
pub fn leftover(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        match cx.tape.count_calls() {
            0 => Read::No,
            _ => Read::Block(opening.after),
        }
    })
}

/// The same for a token that is a tag of HTML too: only at the very end.
pub fn last(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        match cx.tape.byte(cx.tape.skip_space(opening.after).await).await {
            None => leftover(cx, opening).await,
            Some(_) => Read::No,
        }
    })
}
