//! MCP servers as a source of tools.
//!
//! ```text
//! config ─► Server (connects on demand, backs off, restarts) ─► Connection (handshake, requests, cancellation)
//!              │                                                     │
//!           McpTool (a candidate of the hub)               Transport: stdio · streamable HTTP · HTTP+SSE
//!                                                                    │
//!                                                          Inbox (answers, progress, requests of the server)
//! ```

pub mod auth;
pub mod inbox;
pub mod transport;
pub mod wire;
