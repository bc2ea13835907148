//! A text that arrives in deltas, and the main loop: text up to an opening, then the readers that know it, then text again. A whole
//! text is a stream of one delta.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use parking_lot::Mutex;

use super::buffer::{BufferState, HeldCalls};
use super::certainty::{API_FORMATS, CallForm};
use super::dialects::{self, LinePlace};
use super::input::{Found, Opening, ReadContext};
use super::lenient::Repairs;
use super::openings::{MarkEntry, Openings};
use super::options::ParseOptions;
use super::parsed::{Event, ParsedCall, ParsedText};
use super::read::common;
use super::reasoning::{self, ReasoningMode};

/// Finds the calls in a text.
pub fn parse(text: &str, options: &ParseOptions) -> ParsedText {
    let mut stream = StreamParser::over(BufferState::whole(text.to_owned()), options);
    stream.step();
    stream.input.lock().ended = true;
    stream.step();
    let format = stream.format();
    let state = &mut *stream.input.lock();
    ParsedText { calls: state.take_calls(), text: state.take_text(), format }
}

/// Parses a text in deltas of any size, and returns the events each delta makes certain.
///
/// Text is released as soon as it cannot be part of a call. The events of a call come once it is complete, so none is
/// ever taken back: a text that ends inside a value starts no call.
///
/// Unless the mode is [`ReasoningMode::Closed`](super::ReasoningMode), the events of calls, and the text after the first call,
/// come at the end of the text: only then it is certain that no tag follows which makes all of it reasoning.
pub struct StreamParser {
    input: Arc<Mutex<BufferState>>,
    /// The main loop. It is done when the text has ended.
    machine: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    openings: &'static Openings,
    /// The first bytes of a character that is not complete yet.
    partial: Vec<u8>,
}

impl StreamParser {
    pub fn new(options: &ParseOptions) -> Self {
        Self::over(BufferState::default(), options)
    }

    fn over(state: BufferState, options: &ParseOptions) -> Self {
        let input = Arc::new(Mutex::new(state));
        let machine = Box::pin(run(input.clone(), options.clone()));
        Self { input, machine: Some(machine), openings: options.openings, partial: Vec::new() }
    }

    /// Takes the next delta.
    pub fn feed(&mut self, delta: &str) -> Vec<Event> {
        if self.pass(delta) {
            return vec![Event::Text { text: delta.to_owned() }];
        }
        self.replace_partial();
        self.take(delta)
    }

    /// Takes the next delta if it is text to its end and nothing was held back, as most are: its only event is its text. Otherwise
    /// it has to be [fed](Self::feed).
    pub fn pass(&mut self, delta: &str) -> bool {
        let is_text = |bytes: &[u8]| self.openings.may_begin(bytes).is_none();
        !delta.is_empty() && self.partial.is_empty() && self.input.lock().pass(delta, is_text)
    }

    /// Takes the next delta as bytes. A character may be split anywhere; invalid UTF-8 becomes `�`.
    pub fn feed_bytes(&mut self, delta: &[u8]) -> Vec<Event> {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(delta);
        let (mut text, mut chunks) = (String::with_capacity(bytes.len()), bytes.utf8_chunks().peekable());
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let bad = chunk.invalid();
            let may_go_on = || str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
            match chunks.peek() {
                None if may_go_on() => self.partial = bad.to_vec(),
                _ if bad.is_empty() => {}
                _ => text.push('\u{FFFD}'),
            }
        }
        self.take(&text)
    }

    /// Ends the text and returns the events that were held back. Feeding after the end does nothing.
    pub fn finish(&mut self) -> Vec<Event> {
        self.replace_partial();
        self.input.lock().ended = true;
        self.step();
        self.input.lock().take_events()
    }

    /// The calls from this index on, and the number of all calls that can no longer change: the last one may still grow by its end
    /// tag. Only the end of the text tells their certainty.
    pub fn calls_from(&self, index: usize) -> (Vec<ParsedCall>, usize) {
        self.input.lock().calls_from(index)
    }

    /// The dialect that the text commits to so far: see [`ParsedText::format`](super::ParsedText).
    pub fn format(&self) -> Option<&'static str> {
        let found = self.input.lock().format();
        // A message of an API keeps its format, whatever dialect was asked for.
        let api = found.filter(|format| API_FORMATS.contains(format));
        api.or(self.openings.asked).or(found)
    }

    /// The number of bytes kept: those of the call being read, and a little more.
    pub fn held(&self) -> usize {
        self.input.lock().arrived.len()
    }

    fn take(&mut self, text: &str) -> Vec<Event> {
        self.input.lock().push(text);
        self.step();
        self.input.lock().take_events()
    }

    /// Replaces an incomplete character: its other bytes will not come.
    fn replace_partial(&mut self) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.input.lock().push("\u{FFFD}");
        }
    }

    fn step(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        if machine.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.machine = None;
        }
    }
}

/// Reads the text to its end. What is still held back then counts: no closing tag came.
async fn run(input: Arc<Mutex<BufferState>>, options: ParseOptions) {
    let cx = ReadContext { input, tools: options.tools.clone(), asked: options.openings.asked, options };
    cx.state().forms.share_marker = Some(dialects::share_marker);
    read(&cx).await;
    cx.state().held = HeldCalls::default();
}

async fn read(cx: &ReadContext) {
    let ParseOptions { openings, reasoning, .. } = cx.options;
    let mut from = 0;
    let mode = reasoning.of_format(cx.asked);
    if mode == ReasoningMode::Open {
        let Some(after) = common::pass_reasoning(cx, 0).await else { return };
        from = after;
    }
    cx.state().held.undecided = mode != ReasoningMode::Closed;
    from = block(cx, from, &openings.start).await.unwrap_or(from);
    while let Some((at, entry)) = next_opening(cx, openings, from).await {
        from = block(cx, at, entry).await.unwrap_or(at + 1);
        if cx.state().is_stopped {
            // Words of the model about itself, unless all of it was only thought.
            let after = common::pass_reasoning(cx, from).await.filter(|_| cx.state().held.undecided);
            let Some(after) = after else {
                cx.text_until(from, &[]).await;
                break;
            };
            cx.state().discard_until(after);
            from = after;
        }
    }
}

/// Lets the readers of a mark try, and returns the position to go on from; `None` if it begins nothing.
async fn block(cx: &ReadContext, at: usize, entry: &MarkEntry) -> Option<usize> {
    let opening = Opening { start: at, after: at + entry.text.len() };
    for form in &entry.forms {
        let is_bare = form.is_weak && cx.asked.is_none();
        if is_bare && cx.state().is_strong {
            continue;
        }
        let calls = cx.state().begin_block(at, CallForm { format: form.format(), is_bare });
        if let Some(to) = dialects::read_usual(cx, opening, form) {
            cx.state().is_strong = true;
            return Some(to);
        }
        match dialects::read(cx, opening, form).await {
            Some(Found::Text(to)) => return Some(to),
            None => {}
            Some(Found::Block(to)) => {
                cx.state().advance(to);
                if cx.state().calls.len() <= calls {
                    return Some(to);
                }
                let again = (!form.is_weak && !entry.text.is_empty()).then_some(entry.text);
                if let Some(after) = swallowed(cx, Opening { after: to, ..opening }, calls, again) {
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

/// The end of a closing tag of reasoning that a call swallowed because its own end was missing: the call cannot be read, or
/// it was repaired and another one begins after the tag with the marker `again`. In a sound call the tag is part of a value.
fn swallowed(cx: &ReadContext, block: Opening, calls: usize, again: Option<&str>) -> Option<usize> {
    let state = cx.state();
    let found = &state.calls[calls..];
    let has_failed = found.iter().any(|call| call.error.is_some());
    let was_repaired = found.iter().any(|call| call.repairs != Repairs::default());
    if !state.held.undecided || !(has_failed || was_repaired) {
        return None;
    }
    let text = state.between(block.start, block.after);
    let end = reasoning::first_closing(text)?;
    let runs_on = || was_repaired && again.is_some_and(|marker| text[end..].contains(marker));
    (has_failed || runs_on()).then_some(block.start + end)
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
