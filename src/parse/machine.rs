//! The main loop: text up to an opening, then the readers that know it, then text again.

use std::future::Future;
use std::pin::Pin;

use super::context::ReadContext;
use super::dialects::{self, JSON_BARE_NAME};
use super::draft::Draft;
use super::found::{FoundText, WholeText};
use super::input::{BlockSummary, InputBuffer};
use super::marker::{LinePlace, MessageText, Opening, QuickRead, ReadOutcome};
use super::openings::{MarkerEntry, Openings};
use super::read::{common, quoted};
use super::reasoning::{self, ReasoningMode};
use super::repair::Repairs;

/// Reads the text to its end. What is still held back then counts: no closing tag came.
pub(super) async fn run(cx: ReadContext, openings: &'static Openings, mode: ReasoningMode) {
    cx.input.compare_markers(dialects::share_marker);
    read(&cx, openings, mode).await;
    cx.input.decide();
}

async fn read(cx: &ReadContext, openings: &'static Openings, mode: ReasoningMode) {
    let mut from = 0;
    match mode {
        ReasoningMode::Auto => cx.input.doubt(),
        ReasoningMode::Closed => {}
        ReasoningMode::Open => match common::pass_reasoning(cx, 0).await {
            Some(after) => {
                cx.input.doubt();
                from = after;
            }
            None => return,
        },
    }
    from = beginning(cx, openings, from).await;
    while let Some((at, entry)) = next_opening(cx, openings, from).await {
        from = block(cx, openings, mode, at, entry).await;
        if cx.is_stopped() {
            // Words of the model about itself, unless all of it was only thought.
            match common::pass_reasoning(cx, from).await.filter(|_| cx.input.is_undecided()) {
                Some(after) => {
                    cx.forget(after);
                    from = after;
                }
                None => {
                    cx.input.text_until(from, &[]).await;
                    break;
                }
            }
        }
    }
}

/// Lets the readers try that need no marker at the start of a text, and returns the position to go on from.
async fn beginning(cx: &ReadContext, openings: &Openings, from: usize) -> usize {
    for first in openings.first() {
        let is_bare = first.weak && openings.guessing();
        cx.input.begin_block(None, is_bare);
        match (first.read)(cx, Opening { start: from, after: from }).await {
            // Only a marker begins a message.
            ReadOutcome::No | ReadOutcome::Message(_) => {}
            ReadOutcome::Text(to) => return to,
            ReadOutcome::Block(to) => {
                cx.input.drop_to(to);
                if cx.input.count_calls() > 0 && !is_bare {
                    cx.set_strong();
                }
                return to;
            }
        }
    }
    from
}

/// Lets the readers of a marker try, and returns the position to go on from.
async fn block(
    cx: &ReadContext,
    openings: &'static Openings,
    mode: ReasoningMode,
    at: usize,
    entry: &MarkerEntry,
) -> usize {
    let opening = Opening { start: at, after: at + entry.text.len() };
    for marker in
        entry.markers.iter().filter(|marker| !(marker.weak && openings.guessing() && cx.is_strong()))
    {
        if let Some(QuickRead { to, may_be_quoted }) = marker.quick.and_then(|quick| quick(cx, opening)) {
            if may_be_quoted && let Some(after) = quoted::passed(cx, opening, to, false).await {
                return after;
            }
            cx.set_strong();
            return to;
        }
        let is_bare = marker.weak && openings.guessing();
        let calls = cx.input.begin_block(openings.minds_quotes().then_some(at), is_bare);
        match (marker.read)(cx, opening).await {
            ReadOutcome::No => continue,
            ReadOutcome::Text(to) => return to,
            ReadOutcome::Message(MessageText { text, to, is_certain }) => {
                if words(cx, openings, mode, text, to).await || is_certain {
                    return to;
                }
            }
            ReadOutcome::Block(to) => {
                let block = cx.input.end_block(to, calls);
                if !block.has_calls {
                    return to;
                }
                if let Some(after) = quoted::passed(cx, opening, to, block.has_failed).await {
                    cx.recall_strength();
                    return after;
                }
                let again = (!marker.weak).then_some(entry.text);
                if let Some(after) = swallowed(cx, opening, to, block, again) {
                    cx.forget(after);
                    return after;
                }
                if !marker.weak {
                    cx.set_strong();
                }
                return to;
            }
        }
    }
    at + 1
}

/// Reads the words of a message that is all of the text, up to `to`. True if they have calls, which are then those of the text.
async fn words(
    cx: &ReadContext,
    openings: &'static Openings,
    mode: ReasoningMode,
    text: String,
    to: usize,
) -> bool {
    let text = WholeText::new(text);
    let input = InputBuffer::whole(text.clone());
    input.end();
    boxed(ReadContext::new(input.clone(), cx.tools.clone(), openings.asked), openings, mode).await;
    let format = input.format().unwrap_or(JSON_BARE_NAME);
    let (calls, around, forms) = input.take_found();
    if calls.is_empty() {
        return false;
    }
    let read = FoundText { text, calls, around, forms, format: None }.into_parsed();
    let drafts = read.calls.into_iter().map(|call| Draft {
        name: call.name,
        arguments: call.arguments,
        id: Some(call.id).filter(|_| call.id_from_model),
        source: call.source,
        repairs: Repairs::named(&call.repairs),
        error: call.error,
        is_custom: call.is_custom,
    });
    cx.input.say(&read.text);
    cx.input.pass_words(&read.text);
    cx.emit(drafts.collect(), to, format);
    true
}

/// As [`run`], for a text inside of another one.
fn boxed(
    cx: ReadContext,
    openings: &'static Openings,
    mode: ReasoningMode,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(run(cx, openings, mode))
}

/// The end of a closing tag of reasoning that a call swallowed because its own end was missing: the call cannot be read, or
/// it was repaired and another one begins behind the tag with the marker `again`. In a sound call the tag is part of a value.
fn swallowed(
    cx: &ReadContext,
    opening: Opening,
    to: usize,
    block: BlockSummary,
    again: Option<&str>,
) -> Option<usize> {
    let BlockSummary { has_failed, was_repaired, is_undecided, .. } = block;
    if !is_undecided || !(has_failed || was_repaired) {
        return None;
    }
    let end = cx.input.with(opening.start, to, |text| {
        let (_, end) = reasoning::first_closing(text)?;
        let runs_on = || was_repaired && again.is_some_and(|marker| text[end..].contains(marker));
        (has_failed || runs_on()).then_some(end)
    });
    end.map(|end| opening.start + end)
}

/// The next opening from `from` on, and its entry. All text before it is released.
async fn next_opening(
    cx: &ReadContext,
    openings: &'static Openings,
    from: usize,
) -> Option<(usize, &'static MarkerEntry)> {
    let strong = openings.guessing() && cx.is_strong();
    let mut next = from;
    cx.input
        .wait_releasing(true, |view, before| {
            // What has passed in the meantime is text.
            next = next.max(before.head);
            loop {
                let rest = view.from(next);
                let Some(skipped) = openings.may_begin(rest) else {
                    next = view.end();
                    return (next, view.ended.then_some(None));
                };
                next += skipped;
                let rest = &rest[skipped..];
                let begins_line = before.begins_line(&view, next);
                for entry in openings.at(rest) {
                    let differs = rest.get(2).zip(entry.text.as_bytes().get(2)).is_some_and(|(a, b)| a != b);
                    let fits = match entry.place {
                        LinePlace::Anywhere => true,
                        LinePlace::Start => begins_line,
                        LinePlace::Indented => !begins_line && before.indent(&view, next).is_some(),
                    };
                    if differs || (entry.weak && strong) || !fits {
                        continue;
                    }
                    if rest.starts_with(entry.text.as_bytes()) {
                        return (next, Some(Some((next, entry))));
                    }
                    if !view.ended && entry.text.as_bytes().starts_with(rest) {
                        return (next, None);
                    }
                }
                next += 1;
            }
        })
        .await
}
