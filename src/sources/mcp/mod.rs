//! MCP servers as a source of tools.
//!
//! ```text
//!                     Lifecycle (when to connect, back off, close: a pure state machine)
//!                        │
//! config ─► Server ─► Session (background tasks) ─► Connection (handshake, requests, cancellation)
//!              │                                        │
//!   McpTool, SkillTool (candidates of the hub)    Transport: stdio · streamable HTTP · HTTP+SSE · in process
//!                                                       │
//!                                                 Inbox (answers, progress) ─► ServerCallbacks (what the server sends)
//! ```

pub mod auth;
mod background;
pub(crate) mod backoff;
pub mod config;
pub mod connection;
mod connector;
pub(crate) mod convert;
pub mod form_answer;
pub mod host;
mod id_scan;
pub mod in_process;
pub mod inbox;
pub mod info;
mod input;
mod lifecycle;
mod list_starts;
pub mod listing;
mod lists;
pub mod message;
mod outage;
mod pages;
mod principal_headers;
mod principal_pool;
mod proof;
pub mod protocol;
mod question_origin;
mod request_span;
pub mod resources;
mod result_check;
pub mod secrets;
pub mod server;
mod session;
pub mod skills;
mod tasks;
pub mod tool;
pub mod transport;
mod wanted_level;
pub mod wire;
