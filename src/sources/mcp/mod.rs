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
//!
//! | folder | what is in it |
//! |---|---|
//! | `config`, `auth` | which servers there are, and what their requests are signed with |
//! | `server` | when a server is connected, for whom, and what it has listed |
//! | `connect` | from a configuration to a live connection, with its tasks |
//! | `transport`, `messages` | how messages move, how they are written and read, and what they prove |
//! | `lists` | tools, resources and prompts of a server |
//! | `calls`, `skills` | calls of a tool, and of a skill |
//! | `callbacks.rs`, `questions.rs` | what a server sends and asks by itself |

pub mod auth;
pub mod callbacks;
mod calls;
pub mod config;
mod connect;
mod lists;
mod messages;
pub mod questions;
pub mod server;
pub mod skills;
pub mod transport;

// The rooms around this folder name its parts without the folder that they are in.
pub(crate) use server::{backoff, lifecycle, principal_headers};
pub use transport::in_process;
pub use {calls::*, connect::*, lists::*, messages::*};
