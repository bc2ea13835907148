//! What may surround the calls of every dialect: reasoning, code, and the tokens that end a turn.

use crate::parse::context::ReadContext;
use crate::parse::marker::{Opening, ReadFuture, ReadOutcome};

/// The tags that open and close reasoning.
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

/// Languages of a code fence that may contain a call.
const DATA: &[&str] =
    &["", "json", "jsonc", "json5", "xml", "tool_call", "tool_calls", "tool_code", "tool_use"];

/// Reasoning is text, whatever it quotes.
pub fn reasoning(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let opened = cx.input.slice(opening.start, opening.after);
        let Some((_, close)) = REASONING.iter().find(|(open, _)| *open == opened) else {
            return ReadOutcome::No;
        };
        match cx.input.text_until(opening.after, &[close]).await {
            Some((at, _)) => ReadOutcome::Text(at + close.len()),
            None => ReadOutcome::Text(cx.input.end_so_far()),
        }
    })
}

/// Code is text, whatever it quotes.
pub fn code(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let Some((line_end, _)) = cx.input.find(opening.after, &["\n", "`"]).await else {
            return ReadOutcome::No;
        };
        let language = cx.input.slice(opening.after, line_end).trim().to_ascii_lowercase();
        if DATA.contains(&language.as_str()) || cx.input.byte(line_end).await == Some(b'`') {
            return ReadOutcome::Text(line_end);
        }
        match cx.input.text_until(line_end, &["\n```"]).await {
            Some((at, _)) => ReadOutcome::Text(at + 4),
            None => ReadOutcome::Text(cx.input.end_so_far()),
        }
    })
}

/// A token that ends a turn is dropped once there was a call.
pub fn leftover(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match cx.input.count_calls() {
            0 => ReadOutcome::No,
            _ => ReadOutcome::Block(opening.after),
        }
    })
}

/// As [`leftover`], but only at the very end: the token is also an HTML tag.
pub fn last(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match cx.input.byte(cx.input.skip_space(opening.after).await).await {
            None => leftover(cx, opening).await,
            Some(_) => ReadOutcome::No,
        }
    })
}
