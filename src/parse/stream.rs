//! A text that is still being written.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use super::context::ReadContext;
use super::input::InputBuffer;
use super::machine;
use super::options::ParseOptions;
use super::parsed::{Event, ParsedCall};

/// Takes a text in pieces of any size, and tells what each of them made certain.
///
/// Text is released as soon as it cannot be part of a call. The events of a call come once it is whole, so that
/// none has to be taken back: a text that ends inside a value starts no call.
pub struct StreamParser {
    input: InputBuffer,
    /// Ends when the text has ended.
    machine: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    asked: Option<&'static str>,
    /// The start of a character whose other bytes are still to come.
    torn: Vec<u8>,
}

impl StreamParser {
    pub fn new(options: &ParseOptions) -> Self {
        let input = InputBuffer::default();
        let cx = ReadContext::new(input.clone(), options.tools.clone());
        let machine: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(machine::run(cx, options.openings));
        Self { input, machine: Some(machine), asked: options.openings.asked, torn: Vec::new() }
    }

    /// The next piece of the text.
    pub fn feed(&mut self, delta: &str) -> Vec<Event> {
        self.mend_torn();
        self.take(delta)
    }

    /// The next piece as bytes: a character may be cut anywhere, what is not UTF-8 becomes `�`.
    pub fn feed_bytes(&mut self, delta: &[u8]) -> Vec<Event> {
        let mut bytes = std::mem::take(&mut self.torn);
        bytes.extend_from_slice(delta);
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(whole) => {
                    text.push_str(whole);
                    break;
                }
                Err(error) => {
                    let (whole, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    let Some(bad) = error.error_len() else {
                        self.torn = after.to_vec();
                        break;
                    };
                    text.push('\u{FFFD}');
                    rest = &after[bad..];
                }
            }
        }
        self.take(&text)
    }

    /// There is no more: what was held back is a call or text now. Feeding after the end does nothing.
    pub fn finish(&mut self) -> Vec<Event> {
        self.mend_torn();
        self.input.end();
        self.step();
        self.input.take_events()
    }

    /// The calls so far. The last may still grow by its end tag.
    pub fn calls(&self) -> Vec<ParsedCall> {
        self.calls_from(0).0
    }

    /// The calls from the one with this index on, and how many of all can no longer change.
    pub(crate) fn calls_from(&self, index: usize) -> (Vec<ParsedCall>, usize) {
        self.input.calls_from(index)
    }

    /// The dialect of the first call so far, or the one that was asked for.
    pub fn format(&self) -> Option<String> {
        self.input.format().or(self.asked).map(str::to_owned)
    }

    /// How many bytes of the text are kept: those of the call under way, and a little more.
    pub fn held(&self) -> usize {
        self.input.held()
    }

    pub(super) fn into_calls(self) -> Vec<ParsedCall> {
        self.input.take_calls()
    }

    /// As [`feed`](Self::feed), for one who wants no events of calls: their arguments are not written out again.
    pub(super) fn feed_silently(&mut self, text: &str) -> Vec<Event> {
        self.input.be_silent();
        self.feed(text)
    }

    fn take(&mut self, text: &str) -> Vec<Event> {
        self.input.push(text);
        self.step();
        self.input.take_events()
    }

    /// The rest of a character that was cut does not come.
    fn mend_torn(&mut self) {
        if !self.torn.is_empty() {
            self.torn.clear();
            self.input.push("\u{FFFD}");
        }
    }

    fn step(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        if machine.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.machine = None;
        }
    }
}
