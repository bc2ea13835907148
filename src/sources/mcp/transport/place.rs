//! Where the other side of a transport is, for telemetry.

use reqwest::Url;
use toolhub_types::telemetry::session_name;

/// What is not known, or does not apply, is `None`.
#[derive(Debug, Default, PartialEq)]
pub struct TransportPlace {
    /// `pipe` or `tcp`.
    pub network: Option<&'static str>,
    /// `http`.
    pub protocol: Option<&'static str>,
    pub address: Option<String>,
    pub port: Option<u16>,
    /// A name for the session that nobody can use it with.
    pub session: Option<String>,
}

impl TransportPlace {
    pub fn pipe() -> Self {
        TransportPlace { network: Some("pipe"), ..TransportPlace::default() }
    }

    pub fn http(url: &Url, session: Option<&str>) -> Self {
        TransportPlace {
            network: Some("tcp"),
            protocol: Some("http"),
            address: url.host_str().map(str::to_owned),
            port: url.port_or_known_default(),
            session: session.map(session_name),
        }
    }
}
