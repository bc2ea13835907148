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

mod context;
mod dialects;
mod draft;
mod elements;
mod extent;
mod fast_call;
mod input;
mod json_calls;
mod keys;
mod lenient;
mod machine;
mod marker;
mod native;
mod notation;
mod openings;
mod options;
mod parsed;
mod python;
mod read;
mod repair;
mod schemas;
mod stream;
mod strings;
mod typed;
mod view;
mod whole;

pub use dialects::names as formats;
pub use native::parse_value;
pub use options::{ParseOptions, UnknownFormat};
pub use parsed::{Event, ParsedCall, ParsedText};
pub use stream::StreamParser;
pub use whole::parse;
