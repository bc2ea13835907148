//! The HTTP library, set up the way this client needs it, and the reading of its errors.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;

use super::endpoint::Endpoint;
use super::error::LlmError;

/// How long a connection waits for the next request: the calls of one task, not those of a day.
const IDLE: Duration = Duration::from_secs(30);

/// Redirects are refused, so the key goes to its origin only. Proxies are taken from the environment, but
/// not for this machine. Certificates are those that the system trusts.
pub(crate) fn http_client(endpoint: &Endpoint) -> Result<Client, LlmError> {
    let failed = |error: &dyn fmt::Display| {
        LlmError::config(format!(
            "The HTTP client cannot be set up: {error}; for https the system needs its CA certificates (or SSL_CERT_FILE)."
        ))
    };
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    // An error means that another part of this library was first with the same provider.
    let _ = rustls::crypto::CryptoProvider::install_default((*ring).clone());
    let mut builder = Client::builder()
        .user_agent(concat!("toolhub/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .pool_idle_timeout(IDLE);
    if endpoint.is_plain_http() {
        // Loading the system's certificates takes milliseconds and fails where there are none.
        let unused = rustls::ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(unused);
    }
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        let reason = sources(&error).last().map(ToString::to_string);
        failed(&reason.unwrap_or_else(|| error.to_string()))
    })
}

/// The errors below this one, from the outside in.
pub(crate) fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
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
