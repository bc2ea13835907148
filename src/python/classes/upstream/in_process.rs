//! Servers that run in this process, as their Python host sees them: it accepts sessions and moves their messages.

use crate::classes::upstream::servers::{PyServers, refused, texts};
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::process;
use crate::values::errors::value_error;
use std::sync::Weak;
use toolhub::sources::mcp::config::{Endpoint, environment, server_from};
use toolhub::sources::mcp::in_process::{HostedSession, SessionQueue, hosted};
use toolhub::sources::mcp::protocol::Era;
use toolhub::sources::mcp::server::Server;
use toolhub::sources::mcp::tool_list::Listing;

/// The host of one server. It keeps neither the server nor its hub alive.
#[pyclass(frozen, module = "toolhub._core")]
pub struct InProcessHost {
    queue: Arc<SessionQueue>,
    server: Weak<Server>,
    generation: u64,
}

/// The server's side of one session.
#[pyclass(frozen, module = "toolhub._core")]
pub struct InProcessSession(Arc<HostedSession>);

/// Adds a server that runs in this process; returns its host and what is odd about its options.
#[pyfunction]
pub fn add_in_process(
    py: Python<'_>,
    servers: &PyServers,
    id: &str,
    entry: &Bound<'_, PyAny>,
) -> PyResult<(InProcessHost, Vec<String>)> {
    let core = servers.core()?;
    let entry = json::as_json("the configuration", entry)?;
    let (link, queue) = hosted();
    let here = Some(Endpoint::InProcess(link));
    let (config, warnings) = server_from(id, &entry, None, &environment, here).map_err(refused)?;
    py.detach(|| servers.put(config)).map_err(value_error)?;
    let server = core.get(id).as_ref().map(Arc::downgrade).unwrap_or_default();
    let host = InProcessHost { queue: Arc::new(queue), server, generation: servers.generation };
    Ok((host, texts(&warnings)))
}

#[pymethods]
impl InProcessHost {
    /// Awaits the next session; None when the server was removed, replaced or closed.
    fn accept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, BridgeFuture>> {
        process::check_generation(self.generation)?;
        let queue = self.queue.clone();
        bridge::run(
            py,
            async move { Ok(queue.next().await.map(|session| InProcessSession(Arc::new(session)))) },
        )
    }

    /// The host goes on elsewhere: who awaits a session now gets None.
    fn hand_over(&self) {
        self.queue.hand_over();
    }

    /// Takes the tools of the server as `tools/list` has them, as JSON text, and the era that its package speaks. False when
    /// the server is gone.
    fn set_tools(&self, py: Python<'_>, tools: &str, era: &str) -> PyResult<bool> {
        process::check_generation(self.generation)?;
        let era =
            Era::parse(era).ok_or_else(|| PyValueError::new_err("the era must be 'modern' or 'legacy'"))?;
        let listing = Listing::from_json(tools, era, None)
            .map_err(|reason| PyValueError::new_err(format!("the tools must be a JSON list: {reason}")))?;
        Ok(py
            .detach(|| self.server.upgrade().map(|server| server.take_list_of_host(listing, era).ok()))
            .is_some())
    }
}

#[pymethods]
impl InProcessSession {
    /// Awaits the next message of the client as JSON text; None after the client has closed the session.
    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, BridgeFuture>> {
        let session = self.0.clone();
        bridge::run(py, async move { Ok(session.receive().await) })
    }

    /// Sends a message, as JSON text; awaits False when the session is over.
    fn send<'py>(&self, py: Python<'py>, message: String) -> PyResult<Bound<'py, BridgeFuture>> {
        let session = self.0.clone();
        bridge::run(py, async move { Ok(session.send(message).await) })
    }

    /// Ends the session; requests in flight fail with the reason.
    #[pyo3(signature = (reason=None))]
    fn end(&self, reason: Option<String>) {
        self.0.end(reason);
    }
}
