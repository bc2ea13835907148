//! The main loop: text up to an opening, then the readers that know it, then text again.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;

use super::buffer::{BufferState, HeldCalls};
use super::certainty::Certainty;
use super::dialects::{self, JSON_BARE, LinePlace};
use super::input::{Found, MessageText, Opening, ReadContext};
use super::lenient::Repairs;
use super::openings::{MarkEntry, Openings};
use super::options::ParseOptions;
use super::parsed::ParsedText;
use super::read::common;
use super::reasoning::{self, ReasoningMode};
use super::stream::parse;

/// The machine at work. It may read a text inside of another one.
pub(super) type Machine = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads the text to its end. What is still held back then counts: no closing tag came.
pub(super) fn run(input: Arc<Mutex<BufferState>>, options: ParseOptions) -> Machine {
    let cx = ReadContext { input, tools: options.tools.clone(), asked: options.openings.asked };
    Box::pin(async move {
        cx.state().forms.share_marker = Some(dialects::share_marker);
        read(&cx, &options).await;
        cx.state().held = HeldCalls::default();
    })
}

async fn read(cx: &ReadContext, options: &ParseOptions) {
    let mut from = 0;
    match options.reasoning.of_format(cx.asked) {
        ReasoningMode::Auto => cx.state().held.undecided = true,
        ReasoningMode::Closed => {}
        ReasoningMode::Open => match common::pass_reasoning(cx, 0).await {
            Some(after) => {
                cx.state().held.undecided = true;
                from = after;
            }
            None => return,
        },
    }
    from = block(cx, options, from, &options.openings.start).await.unwrap_or(from);
    while let Some((at, entry)) = next_opening(cx, options.openings, from).await {
        from = block(cx, options, at, entry).await.unwrap_or(at + 1);
        if cx.state().is_stopped {
            // Words of the model about itself, unless all of it was only thought.
            match common::pass_reasoning(cx, from).await.filter(|_| cx.state().held.undecided) {
                Some(after) => {
                    cx.state().discard_until(after);
                    from = after;
                }
                None => {
                    cx.text_until(from, &[]).await;
                    break;
                }
            }
        }
    }
}

/// Lets the readers of a mark try, and returns the position to go on from; `None` if it begins nothing.
async fn block(cx: &ReadContext, options: &ParseOptions, at: usize, entry: &MarkEntry) -> Option<usize> {
    let opening = Opening { start: at, after: at + entry.text.len() };
    for form in &entry.forms {
        let is_bare = form.is_weak && cx.asked.is_none();
        if is_bare && cx.state().is_strong {
            continue;
        }
        let calls = cx.state().begin_block(at, is_bare);
        if let Some(to) = dialects::read_usual(cx, opening, form) {
            cx.state().is_strong = true;
            return Some(to);
        }
        match dialects::read(cx, opening, form).await {
            None => {}
            Some(Found::Text(to)) => return Some(to),
            Some(Found::Message(message)) => {
                let MessageText { to, is_certain, .. } = message;
                if words(cx, options, message) || is_certain {
                    return Some(to);
                }
            }
            Some(Found::Block(to)) => {
                cx.state().advance(to);
                if cx.state().calls.len() <= calls {
                    return Some(to);
                }
                let again = (!form.is_weak && !entry.text.is_empty()).then_some(entry.text);
                if let Some(after) = swallowed(cx, opening, to, calls, again) {
                    cx.state().discard_until(after);
                    return Some(after);
                }
                if !form.is_weak {
                    cx.state().is_strong = true;
                }
                return Some(to);
            }
        }
    }
    None
}

/// Reads the words of a message that is all of the text. True if they have calls, which are then those of the text.
fn words(cx: &ReadContext, options: &ParseOptions, message: MessageText) -> bool {
    let ParsedText { mut calls, text, format } = parse(&message.text, options);
    if calls.is_empty() {
        return false;
    }
    let is_sure = !message.is_broken_off && calls.iter().all(|call| call.certainty == Some(Certainty::Sure));
    // An id that was made is made again, beside those of the calls before it.
    calls.iter_mut().filter(|call| !call.id_from_model).for_each(|call| call.id.clear());
    cx.state().emit_text(&text);
    let before = cx.state().calls.len();
    cx.state().forms.pass(&text, before);
    cx.emit(calls, message.to, format.unwrap_or(JSON_BARE));
    if !is_sure {
        let state = &mut *cx.state();
        state.forms.doubt(state.calls.len());
    }
    true
}

/// The end of a closing tag of reasoning that a call swallowed because its own end was missing: the call cannot be read, or
/// it was repaired and another one begins after the tag with the marker `again`. In a sound call the tag is part of a value.
fn swallowed(
    cx: &ReadContext,
    opening: Opening,
    to: usize,
    calls: usize,
    again: Option<&str>,
) -> Option<usize> {
    let state = cx.state();
    let block = &state.calls[calls..];
    let has_failed = block.iter().any(|call| call.error.is_some());
    let was_repaired = block.iter().any(|call| call.repairs != Repairs::default());
    if !state.held.undecided || !(has_failed || was_repaired) {
        return None;
    }
    let text = state.between(opening.start, to);
    let (_, end) = reasoning::first_closing(text)?;
    let runs_on = || was_repaired && again.is_some_and(|marker| text[end..].contains(marker));
    (has_failed || runs_on()).then_some(opening.start + end)
}

/// The next opening from `from` on, and its entry. All text before it is released.
async fn next_opening(
    cx: &ReadContext,
    openings: &'static Openings,
    from: usize,
) -> Option<(usize, &'static MarkEntry)> {
    let strong = cx.asked.is_none() && cx.state().is_strong;
    let mut next = from;
    cx.wait_releasing(true, |view| {
        // What has passed in the meantime is text.
        next = next.max(view.head);
        loop {
            let rest = view.from(next);
            let Some(skipped) = openings.may_begin(rest) else {
                next = view.end();
                return (next, view.ended.then_some(None));
            };
            next += skipped;
            let rest = &rest[skipped..];
            let begins_line = view.begins_line(next);
            for entry in openings.at(rest) {
                let fits = match entry.place {
                    LinePlace::Anywhere => true,
                    LinePlace::Start => begins_line,
                    LinePlace::Indented => !begins_line && view.indent(next).is_some(),
                };
                if (entry.is_weak && strong) || !fits {
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
