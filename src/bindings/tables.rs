//! Lists that the core owns and Python only reads.

use crate::error::{ErrorKind, HubError};
use crate::secret;
use crate::sources::mcp::config::SERVER_OPTIONS;
use pyo3::prelude::*;

/// The kinds of errors in order: name, whether a retry can help, and what is known about effects if nothing else is said.
#[pyfunction]
pub fn error_kinds() -> Vec<(&'static str, bool, &'static str)> {
    let row = |kind: &ErrorKind| (kind.name(), kind.retryable(), HubError::new(*kind, "").outcome.name());
    ErrorKind::ALL.iter().map(row).collect()
}

/// The keys of `toolhub` in the entry of a server.
#[pyfunction]
pub fn server_options() -> Vec<&'static str> {
    SERVER_OPTIONS.to_vec()
}

/// Whether a name says that what it stands for must not be shown.
#[pyfunction]
pub fn is_secret_name(name: &str) -> bool {
    secret::is_secret_name(name)
}
