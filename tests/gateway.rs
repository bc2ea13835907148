//! The hub as an MCP server, with real sockets and pipes: both eras, HTTP and stdio.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "gateway/abuse.rs"]
mod abuse;
#[path = "gateway/access.rs"]
mod access;
#[path = "gateway/batches.rs"]
mod batches;
#[path = "gateway/client.rs"]
mod client;
#[path = "gateway/headers.rs"]
mod headers;
#[path = "gateway/http.rs"]
mod http;
#[path = "gateway/large_results.rs"]
mod large_results;
#[path = "gateway/offers.rs"]
mod offers;
#[path = "gateway/questions.rs"]
mod questions;
#[path = "gateway/real_clients.rs"]
mod real_clients;
#[path = "gateway/stdio.rs"]
mod stdio;
#[path = "gateway/tasks.rs"]
mod tasks;
#[path = "gateway/vanishing.rs"]
mod vanishing;
#[path = "gateway/world.rs"]
mod world;
