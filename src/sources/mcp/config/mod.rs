//! Which MCP servers there are and how to reach them: the `mcpServers` file of Claude Desktop, Cursor and
//! FastMCP, and what other clients made of it.
//!
//! ```text
//! file ─► jsonc (comments, trailing commas) ─► load (where are the servers?) ─► merge ─► entry ─► ServerConfig
//!                                                                                           ├ endpoint, auth, options
//!                                                                                           └ fields + variables
//! ```
//!
//! Nothing is started here and nothing is asked of the network; the only files that are read are the
//! given one, the `.local` one beside it, and an `envFile` that they name. One bad server never loses the others: what is wrong with it
//! is a [`Notice`] that names file, server and key.

mod auth;
mod bound;
mod endpoint;
mod entry;
mod env_file;
mod fields;
mod foreign;
mod jsonc;
mod load;
mod merge;
mod notice;
mod options;
mod program_file;
mod variables;

pub use auth::Auth;
pub use endpoint::{Command, Dialect, Endpoint, Remote};
pub use entry::{server_from, server_in_process};
pub use load::{ConfigStamp, Loaded, config_stamp, load_file, load_value, raw_entries, section};
pub use notice::Notice;
pub use options::{ServerOptions, server_options};
pub use variables::Environment;

use std::sync::Arc;

/// One server, checked and with all variables replaced. Its `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    pub id: Arc<str>,
    pub endpoint: Endpoint,
    pub auth: Auth,
    pub options: ServerOptions,
    /// It stays in the list, so that it can be shown and turned on, but nothing connects to it.
    pub disabled: bool,
}
