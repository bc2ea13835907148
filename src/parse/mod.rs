//! From model text to tool calls: [`parse`] for a whole text, [`StreamParser`] for one that is still being written.
//!
//! ```text
//! deltas ─► tape ─► machine ─► the readers of a dialect ─► drafts ─► calls, text, events
//!                      │             │
//!                  openings      extent (where does a value end?) · lenient (what does it say?) · typed (by the schema)
//! ```
//!
//! **One machine.** A reader is straight-line `async` code over the `tape`: where it needs a character that has
//! not come yet, it waits. The compiler makes the state machine of it, and a whole text is the stream of one delta,
//! so that every way of cutting a text gives the same calls. Nothing runs in the background: [`StreamParser::feed`]
//! polls the machine once. Each character is looked at a bounded number of times.
//!
//! **What counts.** An opening (`dialects`) begins a call only when what follows has the form of one; otherwise it
//! is text. A value in JSON or Python ends where its brackets close, so a tag inside a string is text. A call counts
//! once it is whole; one that is cut inside a value is an entry with an error. Reasoning (`<think>`) and code in
//! fences of a programming language are text, whatever they quote. Bare JSON, `[name(…)]` and `Action:` are weak
//! openings: once a call with a marker was seen, they are data.
//!
//! **Spans** count characters of the input, and cover the tags; the calls of one JSON list share theirs. Ids that
//! are missing or were used before are made (`call_1`, …).
//!
//! To add a dialect: a file in `dialects/` with its openings and the reader that fits, and its line in the list there.
//!
//! ```
//! use toolhub::parse::{ParseOptions, parse};
//! let parsed = parse("Sure. <tool_call>{'name': 'ping', 'args': {}}</tool_call>", &ParseOptions::default());
//! assert_eq!((parsed.calls[0].name.as_str(), parsed.text.as_str()), ("ping", "Sure. "));
//! assert_eq!(parsed.calls[0].repairs, ["single quotes"]);
//! ```

mod dialects;
mod draft;
mod elements;
mod extent;
pub(crate) mod found;
mod lenient;
mod machine;
pub(crate) mod native;
mod openings;
mod options;
mod pairs;
mod plain;
mod python;
mod read;
mod stream;
mod strings;
mod tape;
mod typed;

pub use native::parse_value;
pub use options::{ParseOptions, UnknownFormat};
pub use stream::StreamParser;

use found::FoundCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call that was found, or what was left of one: then `error` says why, and `raw` is its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParsedCall {
    /// Empty when there is an error and no name could be read.
    pub name: String,
    pub arguments: Map<String, Value>,
    pub id: String,
    pub source: Option<String>,
    /// Where it is in the input, in characters: from, to.
    pub span: (usize, usize),
    /// What had to be mended to read it.
    pub repairs: Vec<String>,
    pub error: Option<String>,
    pub raw: Option<String>,
}

/// What a text holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// In the order of the text.
    pub calls: Vec<ParsedCall>,
    /// All that is not part of a call.
    pub text: String,
    /// The dialect of the first call; the one that was asked for when there is none.
    pub format: Option<String>,
}

/// What a piece of a stream made certain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Text {
        text: String,
    },
    CallStart {
        index: usize,
        name: String,
    },
    ArgsDelta {
        index: usize,
        delta: String,
    },
    CallEnd {
        index: usize,
    },
    /// An entry with an error: see [`ParsedCall::error`].
    CallError {
        index: usize,
        error: String,
    },
}

/// Finds the calls in a text.
pub fn parse(text: &str, options: &ParseOptions) -> Parsed {
    find(text, options).into()
}

/// As [`Parsed`], with the calls as they are kept.
pub(crate) struct Found {
    pub calls: Vec<FoundCall>,
    pub text: String,
    pub format: Option<String>,
}

impl From<Found> for Parsed {
    fn from(found: Found) -> Self {
        let calls = found.calls.into_iter().map(ParsedCall::from).collect();
        Parsed { calls, text: found.text, format: found.format }
    }
}

/// As [`parse`], with the calls as they are kept.
pub(crate) fn find(text: &str, options: &ParseOptions) -> Found {
    let mut stream = StreamParser::new(options);
    let mut around = String::new();
    for event in stream.feed_silently(text).into_iter().chain(stream.finish()) {
        match event {
            Event::Text { text } if around.is_empty() => around = text,
            Event::Text { text } => around.push_str(&text),
            _ => {}
        }
    }
    let format = stream.format();
    Found { calls: stream.into_calls(), text: around, format }
}

/// The names that a format may have, besides `auto`.
pub fn formats() -> Vec<&'static str> {
    dialects::ALL.iter().map(|dialect| dialect.name).collect()
}
