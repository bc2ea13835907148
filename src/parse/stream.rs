//! A text that arrives in deltas. A whole text is a stream of one delta.

use std::sync::Arc;
use std::task::{Context, Waker};

use parking_lot::Mutex;

use super::buffer::BufferState;
use super::certainty::API_FORMATS;
use super::machine::{self, Machine};
use super::openings::Openings;
use super::options::ParseOptions;
use super::parsed::{Event, ParsedCall, ParsedText};

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
    /// Done when the text has ended.
    machine: Option<Machine>,
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
        let machine = machine::run(input.clone(), options.clone());
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

    /// The calls so far. The last one may still grow by its end tag, and only the end of the text tells their certainty.
    pub fn calls(&self) -> Vec<ParsedCall> {
        self.calls_from(0).0
    }

    /// The calls from this index on, and the number of all calls that can no longer change.
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
