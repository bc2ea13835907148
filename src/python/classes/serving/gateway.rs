//! The gateway, as Python sees it: serving on a socket, on stdio, and request by request for ASGI.

use crate::classes::hub::PyHub;
use crate::classes::options::seconds;
use crate::classes::serving::gateway_options::{ServedPlace, gateway_options, principal_function};
use crate::classes::upstream::servers::PyServers;
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::loop_bridge::{self, LoopBridge};
use crate::runtime::tool_loops::ServedLoop;
use crate::runtime::{block_on, process};
use crate::values::arguments::callable::{Callable, callable};
use futures_util::StreamExt;
use http::Request;
use pyo3::types::PyBytes;
use std::net::IpAddr;
use std::time::SystemTime;
use tokio::net::TcpListener;
use toolhub::catalog::upstreams::HubUpstreams;
use toolhub::error::{Outcome, Result};
use toolhub::gateway::{ArrivingRequest, Gateway, HttpReply, ReplyBody, serve_until_drained};
use toolhub::net::unmapped;

/// The hub as one MCP server.
#[pyclass(frozen, module = "toolhub._core", name = "Gateway")]
pub struct PyGateway {
    core: Arc<Gateway>,
    hub: Py<PyHub>,
    listener: Arc<Mutex<Option<TcpListener>>>,
    /// The loop on which Python tools and the function that names callers run.
    place: ServedPlace,
    authenticate: Option<Arc<Callable>>,
    generation: u64,
}

#[pymethods]
impl PyGateway {
    #[new]
    #[pyo3(signature = (hub, servers, options, authenticate=None))]
    fn new(
        hub: &Bound<'_, PyHub>,
        servers: &PyServers,
        options: &Bound<'_, PyAny>,
        authenticate: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (core, served_on) = (hub.get().checked_core()?, &hub.get().served_on);
        let place = ServedPlace::default();
        let function = |described| callable(core, served_on.clone(), described, &PyDict::new(hub.py()));
        let authenticate = authenticate.map(function).transpose()?.map(Arc::new);
        let function = principal_function(authenticate.clone(), &place);
        let options = gateway_options(options, function, false)?;
        let core = hub.get().core.clone();
        let upstreams = Arc::new(HubUpstreams::new(servers.core()?.clone()));
        let gateway = Gateway::new(core, upstreams, options).map_err(|error| tool_error(hub.py(), &error))?;
        Ok(PyGateway {
            core: Arc::new(gateway),
            hub: hub.clone().unbind(),
            listener: Arc::default(),
            place,
            authenticate,
            generation: process::generation(),
        })
    }

    /// Opens the socket; awaits the address that it got, as (host, port).
    fn bind<'py>(&self, py: Python<'py>, host: String, port: u16) -> PyResult<Bound<'py, BridgeFuture>> {
        process::check_generation(self.generation)?;
        bridge::run(py, self.bound(host, port))
    }

    /// `bind`, blocking.
    fn bind_blocking(&self, py: Python<'_>, host: String, port: u16) -> PyResult<(String, u16)> {
        process::check_generation(self.generation)?;
        block_on::wait(py, block_on::wakeup()?, self.bound(host, port), |_| Ok(()))
    }

    /// A warning when everyone who reaches this address may call the tools; None on this machine, and with credentials.
    fn exposure(&self, host: &str, port: u16) -> Option<String> {
        let is_local = host.parse::<IpAddr>().is_ok_and(|ip| unmapped(ip).is_loopback());
        (!is_local && !self.core.identity.authenticator.load().is_closed()).then(|| {
            format!(
                "everyone who can reach {host}:{port} may call every tool: give `token`, `jwt` or `authenticate`, or serve on 127.0.0.1"
            )
        })
    }

    /// A line for the log when the process has too few descriptors for `max_connections`.
    fn few_descriptors(&self) -> Option<String> {
        let admission = &self.core.operation.admission;
        let (most, wanted) = (admission.most_connections(), admission.limits().max_connections);
        (most < wanted).then(|| {
            format!(
                "at most {most} connections at once, not {wanted}: the process may have too few descriptors open; raise its limit (`ulimit -n`, `LimitNOFILE=`)"
            )
        })
    }

    /// Serves the socket that `bind` has opened, or else the client that started this process, until its end or `drain`. What
    /// runs then gets `grace` seconds to end.
    fn serve<'py>(&self, py: Python<'py>, grace: f64) -> PyResult<Bound<'py, BridgeFuture>> {
        bridge::run(py, self.served(grace)?)
    }

    /// `serve`, blocking. When Python has something to run for the first time, `open_loop` is called on this thread and gives
    /// the bridge of the event loop for it.
    fn serve_blocking(&self, py: Python<'_>, grace: f64, open_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        let wakeup = block_on::wakeup()?;
        let place = ServedLoop::later(py, wakeup.clone())?;
        self.enter_at(place.clone());
        block_on::wait(py, wakeup, self.served(grace)?, |py| {
            if !place.wants_loop() {
                return Ok(());
            }
            let opened = open_loop.call0().and_then(|bridge| Ok(bridge.cast_into::<LoopBridge>()?));
            match opened {
                Ok(bridge) => place.open(bridge.get()),
                // Serving goes on, and the next call tries again.
                Err(error) if error.is_instance_of::<PyException>(py) => {
                    let reason = error.to_string();
                    error.write_unraisable(py, Some(open_loop));
                    place.give_up_waiting(reason);
                }
                Err(error) => return Err(error),
            }
            Ok(())
        })
    }

    /// Refuses new requests; what runs may end, then serving ends.
    fn drain(&self) {
        self.core.operation.drain.begun.cancel();
    }

    /// Ends serving at once; what runs is answered if its client still waits.
    fn stop(&self) {
        self.core.stop_now();
    }

    /// Opens the audit log again by its name, after it was moved away.
    fn reopen_audit(&self, py: Python<'_>) -> PyResult<()> {
        let Some(audit) = &self.core.options.audit else { return Ok(()) };
        py.detach(|| audit.writer.reopen()).map_err(|error| tool_error(py, &error))
    }

    /// Applies the credentials, views and limits of these options to requests from now on. The other options stay.
    fn reload<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        process::check_generation(self.generation)?;
        let function = principal_function(self.authenticate.clone(), &self.place);
        let options = gateway_options(options, function, true)?;
        let core = self.core.clone();
        bridge::run(py, async move { core.reload(&options).await })
    }

    /// Lists the tools of servers that have not listed them yet, in the background.
    fn list_new_servers(&self) -> PyResult<()> {
        process::check_generation(self.generation)?;
        let core = self.core.clone();
        let _ = process::spawn(async move {
            let view = core.identity.views.load().standard.clone();
            core.upstreams.listed(&view, None).await;
        });
        Ok(())
    }

    /// Python tools run on the running event loop from now on.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        let bridge = loop_bridge::current(py)?;
        if self.place.lock().as_ref().is_some_and(|(place, _)| place.is_behind(bridge.get())) {
            return Ok(());
        }
        self.enter_at(ServedLoop::new(&bridge)?);
        Ok(())
    }

    /// Python tools run on that loop no more.
    fn leave(&self) {
        let place = self.place.lock().take();
        drop(place);
    }

    /// Awaits who makes an HTTP request, and whether it may: its body is read after that.
    fn admit<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        target: &str,
        headers: Vec<(Vec<u8>, Vec<u8>)>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        process::check_generation(self.generation)?;
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .body(())
            .map_err(|error| PyValueError::new_err(format!("this is not an HTTP request: {error}")))?;
        let (parts, ()) = request.into_parts();
        let admitted = ArrivingRequest::admit(self.core.clone(), parts);
        bridge::run(py, async move { Ok(PyArrivingRequest(Mutex::new(Some(admitted.await)))) })
    }

    /// Signs session ids with this key from now on. Those of older keys are accepted for `grace` seconds more.
    fn rotate_session_key(&self, py: Python<'_>, key: &str, grace: Option<f64>) -> PyResult<()> {
        let keys = self.core.options.session_keys.as_ref().ok_or_else(|| {
            PyValueError::new_err("session_keys were not given, so every process has a random key of its own")
        })?;
        let grace = seconds("grace", grace)?.unwrap_or(self.core.options.session_lifetime);
        keys.rotate(key, grace, SystemTime::now()).map_err(|error| tool_error(py, &error))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.authenticate.iter().try_for_each(|function| function.traverse(&visit))?;
        visit.call(&self.hub)
    }

    /// In seconds.
    #[getter]
    fn write_timeout(&self) -> f64 {
        self.core.operation.admission.limits().write_timeout.as_secs_f64()
    }

    /// The key of the operator for the inspector; None where it is not served.
    #[getter]
    fn inspect_key(&self) -> Option<&str> {
        self.core.has_inspector().then(|| &*self.core.identity.inspector.key)
    }
}

impl PyGateway {
    fn enter_at(&self, place: Arc<ServedLoop>) {
        let guard = self.hub.get().served_on.open(place.clone());
        let before = self.place.lock().replace((place, guard));
        drop(before);
    }

    fn bound(&self, host: String, port: u16) -> impl Future<Output = Result<(String, u16)>> + Send + use<> {
        let (place, core) = (self.listener.clone(), self.core.clone());
        async move {
            core.identity.authenticator.load_full().prepare().await?;
            let failed = |error: std::io::Error| {
                let text = message!("Cannot listen on {}:{}: {}", host, port, error);
                HubError::new(ErrorKind::Connect, text).with_outcome(Outcome::NotSent)
            };
            let listener = TcpListener::bind((host.as_str(), port)).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            core.identity.inspector.listens_on(address.ip());
            *place.lock() = Some(listener);
            Ok((address.ip().to_string(), address.port()))
        }
    }

    fn served(&self, grace: f64) -> PyResult<impl Future<Output = Result<()>> + Send + use<>> {
        process::check_generation(self.generation)?;
        let grace = seconds("grace", Some(grace))?.unwrap_or_default();
        Ok(serve_until_drained(self.core.clone(), self.listener.lock().take(), grace))
    }
}

/// A request whose body arrives.
#[pyclass(frozen, module = "toolhub._core", name = "ArrivingRequest")]
pub struct PyArrivingRequest(Mutex<Option<Result<ArrivingRequest, HttpReply>>>);

#[pymethods]
impl PyArrivingRequest {
    /// Takes a part of the body. The reply to a request that is refused, before or because of this part; None otherwise.
    fn take(&self, part: &[u8]) -> Option<GatewayReply> {
        let mut state = self.0.lock();
        let refusal = match state.as_mut()? {
            Ok(request) => request.take(part).err(),
            Err(_) => state.take().and_then(Result::err),
        };
        refusal.map(GatewayReply::new)
    }

    /// In seconds: the next part has to be here before.
    #[getter]
    fn time_left(&self) -> f64 {
        let left = self.0.lock().as_ref().and_then(|request| request.as_ref().ok()?.time_left().into());
        left.unwrap_or_default().as_secs_f64()
    }

    /// The reply to a request whose next part has not come in time.
    fn expire(&self) -> PyResult<GatewayReply> {
        Ok(GatewayReply::new(self.ended()?.expire()))
    }

    /// Awaits the reply when the whole body has come. Cancelling the await cancels the call.
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, BridgeFuture>> {
        let request = self.ended()?;
        bridge::run(py, async move { Ok(GatewayReply::new(request.answer().await)) })
    }
}

impl PyArrivingRequest {
    fn ended(&self) -> PyResult<ArrivingRequest> {
        let request = self.0.lock().take().and_then(Result::ok);
        request.ok_or_else(|| PyRuntimeError::new_err("the request was answered"))
    }
}

/// The reply to one HTTP request.
#[pyclass(frozen, module = "toolhub._core")]
pub struct GatewayReply {
    #[pyo3(get)]
    status: u16,
    /// As ASGI wants them.
    #[pyo3(get)]
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Until it is read.
    body: Mutex<Option<ReplyBody>>,
}

impl GatewayReply {
    fn new(reply: HttpReply) -> Self {
        let headers = reply.headers.iter();
        let headers =
            headers.map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()));
        GatewayReply {
            status: reply.status.as_u16(),
            headers: headers.collect(),
            body: Mutex::new(Some(reply.body)),
        }
    }
}

#[pymethods]
impl GatewayReply {
    /// The body, once: all of it, or the parts of a stream.
    #[pyo3(signature = () -> "bytes | BridgeStream")]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let body = self.body.lock().take();
        match body {
            Some(ReplyBody::Whole(bytes)) => Ok(PyBytes::new(py, &bytes).into_any()),
            Some(ReplyBody::Events(events)) => {
                Ok(Bound::new(py, bridge::stream(events.map(|bytes| Ok(bytes.to_vec()))))?.into_any())
            }
            None => Err(PyRuntimeError::new_err("the body was read")),
        }
    }
}
