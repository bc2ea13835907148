//! The HTTP library, set up as every client in here needs it, and the reading of its errors.

use reqwest::{Client, ClientBuilder, redirect};
use std::error::Error;
use std::sync::Arc;

pub const USER_AGENT: &str = concat!("toolhub/", env!("CARGO_PKG_VERSION"));

/// Redirects are refused, so that headers go to their origin only. Certificates are those that the system trusts.
pub fn builder() -> ClientBuilder {
    // An error means that a client was made before: the provider is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).redirect(redirect::Policy::none())
}

/// Makes the client, or says why it cannot be made. One for plain HTTP loads no certificates: that takes milliseconds, and fails
/// where there are none.
pub fn build(builder: ClientBuilder, is_plain: bool) -> Result<Client, String> {
    let builder = match is_plain {
        true => without_certificates(builder).map_err(|error| error.to_string())?,
        false => builder,
    };
    builder.build().map_err(|error| reason(&error))
}

fn without_certificates(builder: ClientBuilder) -> Result<ClientBuilder, rustls::Error> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let unused = rustls::ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(unused))
}

/// The innermost reason, which says what happened; the outer ones may name the URL with its query.
pub fn reason(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// The errors below this one, from the outside in.
pub fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}
