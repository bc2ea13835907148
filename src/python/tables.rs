//! Lists that the core owns and Python only reads.

use pyo3::prelude::*;
use toolhub::error::{ErrorKind, HubError};
use toolhub::hub::MIN_RESULT_LIMIT;
use toolhub::secret;
use toolhub::sources::mcp::config;

/// The kinds of errors in order: name, whether a retry can help, and the outcome that it implies by default.
#[pyfunction]
pub fn error_kinds() -> Vec<(&'static str, bool, &'static str)> {
    let row = |kind: &ErrorKind| (kind.name(), kind.retryable(), HubError::new(*kind, "").outcome.name());
    ErrorKind::ALL.iter().map(row).collect()
}

/// The least number of characters that a run gives a model of a result.
#[pyfunction]
pub fn min_result_limit() -> usize {
    MIN_RESULT_LIMIT
}

/// The keys of `toolhub` in the entry of a server.
#[pyfunction]
pub fn server_options() -> Vec<&'static str> {
    config::server_options()
}

/// Whether a name says that what it stands for must not be shown.
#[pyfunction]
pub fn is_secret_name(name: &str) -> bool {
    secret::is_secret_name(name)
}
