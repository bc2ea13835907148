//! Parsing of model text, from outside.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "parse/corpus.rs"]
mod corpus;
#[path = "parse/dialects.rs"]
mod dialects;
#[path = "parse/hard.rs"]
mod hard;
#[path = "parse/native.rs"]
mod native;
#[path = "parse/streams.rs"]
mod streams;
