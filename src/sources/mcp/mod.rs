//! MCP servers as a source of tools.
//!
//! ```text
//! config ─► Server (connects on demand, backs off, restarts) ─► Connection (handshake, requests, cancellation)
//!              │                                                     │
//!   McpTool, SkillTool (candidates of the hub)             Transport: stdio · streamable HTTP · HTTP+SSE
//!                                                                    │
//!                                                          Inbox (answers, progress) ─► Ear (requests of the server)
//! ```

pub mod auth;
mod backoff;
pub mod config;
pub mod connection;
mod convert;
mod follow;
mod headers;
pub mod host;
pub mod inbox;
pub mod listing;
pub mod message;
pub mod route;
pub mod server;
pub mod skills;
mod tasks;
pub mod tool;
pub mod transport;
pub mod wire;
