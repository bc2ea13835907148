//! The HTTP library, set up the way this client needs it, and the reading of its errors.

use std::fmt;
use std::io;
use std::time::Duration;

use reqwest::Client;

use super::config::config_error;
use super::endpoint::ChatEndpoint;
use toolhub_protocol::net;
use toolhub_types::error::HubError;

/// How long a connection waits for the next request: the calls of one task, not those of a day.
const IDLE: Duration = Duration::from_secs(30);

/// Proxies are taken from the environment, but not for this machine.
pub(crate) fn http_client(endpoint: &ChatEndpoint) -> Result<Client, HubError> {
    let failed = |error: &dyn fmt::Display| {
        config_error(format!(
            "The HTTP client cannot be set up: {error}; for https the system needs its CA certificates (or SSL_CERT_FILE)."
        ))
    };
    let mut builder = net::builder().no_gzip().pool_idle_timeout(IDLE);
    if endpoint.is_plain_http() {
        builder = net::without_certificates(builder).map_err(|error| failed(&error))?;
    }
    if net::needs_no_proxy(&endpoint.url()) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        let reason = net::sources(&error).last().map(ToString::to_string);
        failed(&reason.unwrap_or_else(|| error.to_string()))
    })
}

/// Connection errors that the next attempt may not see.
pub(crate) fn is_passing(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable,
        NotConnected, TimedOut,
    };
    matches!(
        kind,
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | NetworkUnreachable
            | NotConnected
            | TimedOut
    )
}
