//! What may surround the calls of every dialect: reasoning, code, and the tokens that end a turn.

use crate::parse::context::ReadContext;
use crate::parse::marker::{Opening, ReadFuture, ReadOutcome};
use crate::parse::reasoning::{self, TAGS};

/// Ends the message that a text of gpt-oss begins inside of.
const HARMONY_END: &str = "<|end|>";

/// Special tokens of Kimi K2, which its reasoning cannot quote.
const KIMI_SECTIONS: [&str; 2] = ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"];

/// Words after the mark of a fence that may contain a call. With any other word, it is code.
const DATA: &[&str] = &[
    "",
    "json",
    "jsonc",
    "json5",
    "xml",
    "tool",
    "tools",
    "tool_call",
    "tool_calls",
    "tool_code",
    "tool_use",
    "function",
    "function_call",
    "function_calls",
    "action",
];

/// True if a fence with this word after its mark may contain a call.
pub fn holds_data(word: &str) -> bool {
    DATA.iter().any(|known| known.eq_ignore_ascii_case(word.trim()))
}

/// Reasoning is text, whatever it quotes.
pub fn reasoning_block(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let Some(close) = closing_of(cx, opening) else { return ReadOutcome::No };
        // A text that begins with the opening tag did not begin inside.
        if cx.input.is_first(opening.start) {
            cx.input.decide();
        }
        let [plural, singular] = KIMI_SECTIONS;
        let ends = [close, plural, singular];
        let ends = if cx.reads("kimi_k2") { &ends[..] } else { &ends[..1] };
        match cx.input.text_until(opening.after, ends).await {
            Some((at, 0)) => ReadOutcome::Text(at + close.len()),
            // The model may call without closing its reasoning. If the tag still comes, the calls were only thought of.
            Some((at, _)) => {
                cx.input.doubt();
                ReadOutcome::Text(at)
            }
            None => ReadOutcome::Text(cx.input.end_so_far()),
        }
    })
}

/// An opening tag in the middle of a line opens reasoning if its closing tag follows; otherwise it is a word about it.
pub fn mid_line(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        if !is_mentioned(cx, opening).await
            && let Some(close) = closing_of(cx, opening)
        {
            cx.input.expect_closing(close);
        }
        ReadOutcome::Text(opening.after)
    })
}

/// A closing tag without its opening tag shows that the text began inside of reasoning.
pub fn reasoning_end(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        if is_mentioned(cx, opening).await {
            return ReadOutcome::Text(opening.after);
        }
        let close = cx.input.slice(opening.start, opening.after);
        if cx.input.revoke_expected(&close, opening.after) {
            cx.recall_strength();
        } else if cx.input.is_undecided() {
            cx.forget(opening.after);
        }
        ReadOutcome::Text(opening.after)
    })
}

fn closing_of(cx: &ReadContext, opening: Opening) -> Option<&'static str> {
    let opened = cx.input.slice(opening.start, opening.after);
    TAGS.iter().find(|(open, _)| *open == opened).map(|(_, close)| *close)
}

async fn is_mentioned(cx: &ReadContext, opening: Opening) -> bool {
    let before = cx.input.byte_before(opening.start);
    matches!(before, Some(b'`' | b'"' | b'\'' | b'('))
        && reasoning::is_mention(before, cx.input.byte(opening.after).await)
}

/// Passes the reasoning that a text begins with. Returns the position after it; `None` if it has no end.
pub async fn pass_reasoning(cx: &ReadContext, from: usize) -> Option<usize> {
    let closing: Vec<&str> = reasoning::closing().iter().copied().chain([HARMONY_END]).collect();
    let mut from = from;
    loop {
        let (at, index) = cx.input.text_until(from, &closing).await?;
        let opening = Opening { start: at, after: at + closing[index].len() };
        from = opening.after;
        if !is_mentioned(cx, opening).await {
            return Some(from);
        }
    }
}

/// Code is text, whatever it quotes.
pub fn code(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let close = format!("\n{}", cx.input.slice(opening.start, opening.after));
        let Some((line_end, _)) = cx.input.find(opening.after, &["\n", "`"]).await else {
            return ReadOutcome::No;
        };
        let language = cx.input.slice(opening.after, line_end);
        let language = language.trim();
        // Tags and sentences are no language: these backticks end a fence whose start is missing.
        if language.contains(['<', '{', '[', ' '])
            && !language.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            return ReadOutcome::Text(opening.after);
        }
        if holds_data(language) || cx.input.byte(line_end).await == Some(b'`') {
            return ReadOutcome::Text(line_end);
        }
        match cx.input.text_until(line_end, &[&close]).await {
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
