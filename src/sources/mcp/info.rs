//! What users see of a server.

use super::config::{Dialect, Endpoint};
use super::listing::Listing;
use super::protocol::ProtocolHint;
use super::skills::Skills;
use std::time::Duration;
use toolhub_types::error::HubError;

#[derive(Clone, Debug)]
pub struct ServerInfo {
    pub transport: &'static str,
    pub state: &'static str,
    pub era: Option<&'static str>,
    pub version: Option<&'static str>,
    pub tools: Option<usize>,
    /// Time since the tools were listed.
    pub age: Option<Duration>,
    pub error: Option<HubError>,
    pub pid: Option<u32>,
    pub notices: Vec<String>,
    /// The first line that its process printed to its output and that is not MCP.
    pub stray_output: Option<String>,
    pub instructions: Option<String>,
}

pub fn transport(endpoint: &Endpoint, hint: Option<ProtocolHint>) -> &'static str {
    match endpoint {
        Endpoint::Stdio(_) => "stdio",
        Endpoint::Http(remote) if remote.dialect == Dialect::Sse => "sse",
        Endpoint::Http(_) if hint == Some(ProtocolHint::HttpSse) => "sse",
        Endpoint::Http(_) => "http",
        Endpoint::InProcess(_) => "in_process",
    }
}

/// What was left out of the lists, and why.
pub fn notices(listing: Option<&Listing>, skills: Option<&Skills>) -> Vec<String> {
    let of_tools = listing.into_iter().flat_map(|listing| &listing.notices);
    let of_skills = skills.into_iter().flat_map(|skills| &skills.notices);
    of_tools.chain(of_skills).cloned().collect()
}
