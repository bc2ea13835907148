//! L0, what client and server of MCP share: the two eras of the protocol and their versions, the envelope of a message,
//! codes of errors and keys of `_meta`, what a client can be asked, arguments that are repeated in headers.

mod capability;
pub mod lines;
pub mod net;
pub mod param_headers;
mod rpc_envelope;
pub mod sse;

pub use capability::{can_answer, needed_capability};
pub use rpc_envelope::RpcEnvelope;

/// The version we prefer.
pub const MODERN: &str = "2026-07-28";
/// The older versions we speak, newest first.
pub const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Codes of errors in JSON-RPC.
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// The server or client is busy.
pub const TRY_LATER: i64 = -32000;
/// Codes of the modern era: headers that contradict the body, a capability that the client lacks, an unknown version.
pub const HEADER_MISMATCH: i64 = -32020;
pub const MISSING_CAPABILITY: i64 = -32021;
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Keys of `_meta` that begin so belong to the exchange between one client and one server.
pub const OWN_KEYS: &str = "io.modelcontextprotocol/";
/// What the modern era says in each request: its version, who the client is and what it can do, and which log messages it wants.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// What it says in each result: who the server is.
pub const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The extension that lets a server answer a call with a task.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// MCP Apps: tools with a user interface that the client shows.
pub const APPS_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The scheme of the resources with such an interface. Clients take no other one.
pub const APPS_SCHEME: &str = "ui://";
/// Their media type.
pub const APPS_MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The version of this name, if we speak it.
pub fn version(name: &str) -> Option<&'static str> {
    LEGACY.iter().copied().chain([MODERN]).find(|version| *version == name)
}

/// Which of the two protocols server and client speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// No sessions: every request carries the client's identity and version.
    Modern,
    /// `initialize`, sessions, requests from the server.
    Legacy,
}

impl Era {
    pub fn name(self) -> &'static str {
        match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        }
    }

    pub fn parse(name: &str) -> Option<Era> {
        [Era::Modern, Era::Legacy].into_iter().find(|era| era.name() == name)
    }
}

/// The levels of syslog, the least important one first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The place of a level among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogLevel(usize);

impl LogLevel {
    pub const INFO: LogLevel = LogLevel(1);

    pub fn name(self) -> &'static str {
        LEVELS[self.0]
    }

    pub fn parse(name: &str) -> Option<LogLevel> {
        LEVELS.iter().position(|level| *level == name).map(LogLevel)
    }
}
