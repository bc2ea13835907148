//! Parsing of model text, from outside.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod corpus;
mod dialects;
mod hard;
mod native;
mod streams;
