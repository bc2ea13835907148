//! From model text to tool calls: [`parse`] for a whole text, [`StreamParser`] for one that is still arriving.
//!
//! ```text
//! deltas ─► input ─► machine ─► the readers of a dialect ─► drafts ─► calls, text, events
//!                       │             │
//!                   openings      extent (finds the end of a value) · lenient (reads it) · schemas (give it a type)
//! ```
//!
//! **One machine.** A reader is straight-line `async` code over the `input`: it waits for characters that have not arrived
//! yet. The compiler turns it into a state machine. A whole text is a stream of one delta, so every way of splitting a text
//! gives the same calls. Nothing runs in the background: [`StreamParser::feed`] polls the machine once. Each character
//! is read a bounded number of times.
//!
//! **Dependencies** go one way: `buffer` ← `input` ← `read/*` ← `dialects/*` ← `openings` ← `stream`. Only the words of a message of an
//! API are parsed again, as a text of their own: so the readers have the options.
//!
//! **What is a call.** An opening (`dialects`) starts a call only if what follows has the form of one; otherwise it is
//! text. A value in JSON or Python ends where its brackets close, so a tag inside a string is text. A call counts
//! once it is complete; one that is cut off inside a value is an entry with an error. Reasoning (`<think>`), code in
//! fences of a programming language and comments are text, and so is the answer of a tool that the model invented
//! (`reasoning`). A call that is only quoted is a proposal (`certainty`). Bare JSON, `[name(…)]` and `Action:` are weak openings: once a call with
//! a marker was found, they are data.
//!
//! **Reasoning.** A text may begin inside of reasoning, and then shows only its closing tag. Calls are held back (`buffer`) until the
//! text ends; if the tag comes, they become text. `reasoning` has the modes and the tags.
//!
//! **Messages of the chat APIs.** Only what the model says now has calls: `author` tells its words from those of others. The same
//! holds for a text that is such a message, written as JSON.
//!
//! JSON that is not a call, such as a plan, is found by the same machine ([`read_documents`]): what was only thought of is
//! never read.
//!
//! **Certainty.** Each call says how certain it is that it was meant (`certainty`): who executes calls decides with it which ones
//! are only proposals.
//!
//! **Spans** count characters of the input and include the tags; the calls of one JSON list share a span. A missing or
//! repeated id is replaced by a new one (`call_1`, …).
//!
//! To add a dialect: add a row to `dialects/table.rs`, and its cases to `tests/parse/cases`. Only a format that no shared reader
//! can read gets a file of its own.
//!
//! ```
//! use toolhub_parse::{ParseOptions, parse};
//! let parsed = parse("Sure. <tool_call>{'name': 'ping', 'args': {}}</tool_call>", &ParseOptions::default());
//! assert_eq!((parsed.calls[0].name.as_str(), parsed.text.as_str()), ("ping", "Sure. "));
//! assert_eq!(parsed.calls[0].repairs.names(), ["single quotes"]);
//! ```

mod api_message;
mod author;
mod buffer;
mod certainty;
mod dialects;
mod document;
mod elements;
mod extent;
mod input;
mod json_calls;
mod keys;
mod lenient;
mod openings;
mod options;
mod parsed;
mod read;
mod reasoning;
mod schemas;
mod sentence;
mod stream;

pub use api_message::{is_own_request, message_text, parse_request, parse_value};
pub use certainty::Certainty;
pub use dialects::names as formats;
pub use document::{JsonDocument, read_documents, read_json};
pub use json_calls::contradiction;
pub use lenient::Repairs;
pub use options::ParseOptions;
pub use parsed::{CallArguments, Event, NO_NAME, ParsedCall, ParsedText};
pub use reasoning::ReasoningMode;
pub use schemas::ToolSchemas;
pub use sentence::sentence_around;
pub use stream::{StreamParser, parse};
