//! What users see of a server.

use super::Server;
use crate::mcp::config::{Dialect, Endpoint};
use crate::mcp::protocol::ProtocolHint;
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
    /// What was left out of the lists, and why.
    pub notices: Vec<String>,
    /// The first line that its process printed to its output and that is not MCP.
    pub stray_output: Option<String>,
    pub instructions: Option<String>,
}

impl Server {
    pub fn info(&self) -> ServerInfo {
        let machine = self.life.lock();
        let connection =
            machine.session().map(|session| &session.connection).filter(|one| one.retired().is_none());
        let state = match connection {
            _ if machine.is_closed() => "closed",
            _ if self.config().disabled => "disabled",
            _ if machine.is_connecting() => "connecting",
            Some(_) => "connected",
            None if machine.error.is_some() => "failed",
            None => "disconnected",
        };
        let protocol = connection.map(|connection| connection.protocol()).or_else(|| self.lists.protocol());
        let (listing, skills) = (self.lists.tools(), self.lists.skills.load_full());
        let tool_notices = listing.iter().flat_map(|listing| &listing.notices);
        let skill_notices = skills.iter().flat_map(|skills| &skills.notices);
        let output = self.connector.output.load();
        let stray_line = output.as_ref().and_then(|output| output.stray_line());
        ServerInfo {
            transport: transport(&self.config().endpoint, machine.hint),
            state,
            era: protocol.map(|protocol| protocol.era.name()),
            version: protocol.and_then(|protocol| protocol.version),
            tools: listing.as_ref().map(|listing| listing.tools.len()),
            age: self.lists.age(),
            error: machine.error.clone(),
            pid: connection.and_then(|connection| connection.transport.pid()),
            notices: tool_notices.chain(skill_notices).cloned().collect(),
            stray_output: stray_line.map(|line| self.callbacks().secrets.hide(line.to_owned())),
            instructions: self.callbacks().instructions(),
        }
    }
}

fn transport(endpoint: &Endpoint, hint: Option<ProtocolHint>) -> &'static str {
    match endpoint {
        Endpoint::Stdio(_) => "stdio",
        Endpoint::Http(remote) if remote.dialect == Dialect::Sse => "sse",
        Endpoint::Http(_) if hint == Some(ProtocolHint::HttpSse) => "sse",
        Endpoint::Http(_) => "http",
        Endpoint::InProcess(_) => "in_process",
    }
}
