//! What a dialect declares: the markers that may begin a call, and the function that reads what follows.

use std::future::Future;
use std::pin::Pin;

use super::context::ReadContext;

/// The format of one family of models.
pub(super) struct CallDialect {
    pub name: &'static str,
    pub markers: &'static [Marker],
}

/// A text that may begin a call.
#[derive(Clone, Copy)]
pub(super) struct Marker {
    pub text: &'static str,
    /// Where on a line it counts.
    pub place: LinePlace,
    /// Also common in plain text: it counts only until a call with a strong marker was found.
    pub weak: bool,
    /// Whether a byte may follow. Short markers are frequent in text, and this check is cheaper than a reader.
    pub follows: fn(u8) -> bool,
    /// Tried before `read`: the usual case needs no future.
    pub quick: Option<QuickFn>,
    pub read: ReadFn,
}

impl Marker {
    pub const fn new(text: &'static str, read: ReadFn) -> Self {
        Self { text, place: LinePlace::Anywhere, weak: false, follows: |_| true, quick: None, read }
    }

    /// Only for a marker that is not weak.
    pub const fn quickly(self, quick: QuickFn) -> Self {
        Self { quick: Some(quick), ..self }
    }

    pub const fn at_line(self) -> Self {
        Self { place: LinePlace::Start, ..self }
    }

    pub const fn indented(self) -> Self {
        Self { place: LinePlace::Indented, ..self }
    }

    pub const fn weak(self) -> Self {
        Self { weak: true, ..self }
    }

    pub const fn before(self, follows: fn(u8) -> bool) -> Self {
        Self { follows, ..self }
    }
}

/// Where on a line a marker counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePlace {
    Anywhere,
    Start,
    /// Behind an indent or the mark of a list, but not at the start.
    Indented,
}

/// Where a marker starts, and the position after it.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub start: usize,
    pub after: usize,
}

/// What a reader found behind a marker.
pub(super) enum ReadOutcome {
    /// Not this dialect; nothing was emitted.
    No,
    /// Text up to this position.
    Text(usize),
    /// A block with its calls, up to this position.
    Block(usize),
    /// A message of the model that is all of the text.
    Message(MessageText),
}

/// The words of a message of the model: they may have calls.
pub(super) struct MessageText {
    pub text: String,
    /// The end of the message.
    pub to: usize,
    /// Even without a call in its words, nothing else in it is one.
    pub is_certain: bool,
}

pub(super) type ReadFuture<'a> = Pin<Box<dyn Future<Output = ReadOutcome> + Send + 'a>>;
/// Adds the call behind a marker if it needs no repair; or leaves it to the reader.
pub(super) type QuickFn = fn(&ReadContext, Opening) -> Option<QuickRead>;

/// A call that was read without a future.
pub(super) struct QuickRead {
    /// The position after it.
    pub to: usize,
    /// It may be only quoted, and is held back.
    pub may_be_quoted: bool,
}
pub(super) type ReadFn = for<'a> fn(&'a ReadContext, Opening) -> ReadFuture<'a>;
