//! The hub as an MCP server, with real sockets and pipes: both eras, HTTP and stdio.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod abuse;
mod access;
mod batches;
mod client;
mod headers;
mod http;
mod large_results;
mod offers;
mod questions;
mod real_clients;
mod stdio;
mod tasks;
mod vanishing;
mod world;
