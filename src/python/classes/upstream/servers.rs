//! The MCP servers of a hub, as Python sees them.

use crate::classes::hub::PyHub;
use crate::classes::options::seconds;
use crate::classes::upstream::callbacks::CallbackQueue;
use crate::classes::upstream::offers::{self, OFFER_TIMEOUT, PyOfferQuery, offer_kind};
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture, BridgeStream};
use crate::runtime::process;
use crate::values::errors::{ErrorValue, value_error};
use crate::values::json::JsonValue;
use futures_util::future::join_all;
use futures_util::stream::{StreamExt, TryStreamExt, once};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Weak;
use toolhub::catalog::{LoadReport, ReadConfig, Servers};
use toolhub::error::Result;
use toolhub::sources::mcp::auth::{CredentialFactory, TokenStore};
use toolhub::sources::mcp::callbacks::{Ask, Host, Tell};
use toolhub::sources::mcp::config::{Auth, Endpoint, Notice, ServerConfig, environment, server_from};
use toolhub::sources::mcp::server::Server;
#[cfg(target_os = "linux")]
use toolhub::sources::mcp::transport::stdio;

#[pyclass(frozen, module = "toolhub._core", name = "Servers")]
pub struct PyServers {
    core: Arc<Servers>,
    pub generation: u64,
}

/// All sets of servers that there are, to be closed when the interpreter ends.
static ALL: Mutex<Vec<Weak<Servers>>> = Mutex::new(Vec::new());

/// The text without the secrets of any server of this process: a server may give them back in a good answer.
pub fn without_secrets(text: String) -> String {
    let all: Vec<_> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
    all.iter()
        .flat_map(|servers| servers.all())
        .fold(text, |text, server| server.callbacks().secrets.hide(text))
}

pub fn refused(notices: Vec<Notice>) -> PyErr {
    PyValueError::new_err(texts(&notices).join("\n"))
}

pub fn texts(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(|notice| notice.to_string()).collect()
}

#[pymethods]
impl PyServers {
    /// The servers of `hub`. `asks` names the callbacks that the user has given.
    #[new]
    fn new(
        hub: &Bound<'_, PyHub>,
        queue: &CallbackQueue,
        asks: Vec<String>,
        tokens: Option<PathBuf>,
    ) -> PyResult<Self> {
        let asks = |what: &str| asks.iter().any(|known| known == what);
        let ask = |what: &'static str| -> Option<Ask> {
            let callbacks = queue.callbacks.clone();
            asks(what).then(|| -> Ask { Arc::new(move |server, params| callbacks.ask(what, server, params)) })
        };
        let (log, events) = (queue.notices.clone(), queue.notices.clone());
        let tell: Tell = Arc::new(move |server, what, details| events.event(server, what, &details));
        let is_served = Arc::default();
        let host = Host {
            elicit: ask("elicitation"),
            sample: ask("sampling"),
            log: Some(log),
            tell: Some(tell),
            callers_answer: Arc::clone(&is_served),
            telemetry: hub.get().core().telemetry.clone(),
            ..Host::default()
        };
        let credentials = CredentialFactory {
            callbacks: queue.callbacks.clone(),
            store: Arc::new(TokenStore::new(tokens)),
            opens_pages: asks("open_url"),
            is_served,
            lang: hub.get().core().options.lang,
        };
        let make = Arc::new(move |config: &_| credentials.make(config));
        let core = Servers::new(hub.get().core.clone(), host, make);
        // A hub has one set of servers; the first one stays.
        let _ = hub.get().servers.set(Arc::downgrade(&core));
        if let Some(store) = hub.get().core().store() {
            let notices = queue.notices.clone();
            store.on_notice(Box::new(move || notices.store_has_notices()));
        }
        let mut all = ALL.lock();
        all.retain(|servers| servers.strong_count() > 0);
        all.push(Arc::downgrade(&core));
        drop(all);
        Ok(PyServers { core, generation: process::generation() })
    }

    /// Loads a file: adds what is new, replaces what has changed, removes what is gone, and reports what is wrong.
    fn load_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<JsonValue> {
        let core = self.core()?;
        Ok(reported(py.detach(|| core.load_file(&path))))
    }

    /// Loads the files again, or those that have changed; a report for each. An error in one of them changes nothing. `first` is
    /// called when they have none, before any server changes, and nothing does if it raises.
    #[pyo3(signature = (only_changed, first=None))]
    fn reload_files(
        &self,
        py: Python<'_>,
        only_changed: bool,
        first: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(PathBuf, JsonValue)>> {
        let core = self.core()?;
        let read = py.detach(|| core.read_files_again(only_changed));
        let is_wrong = read.iter().any(ReadConfig::is_wrong);
        let applied = match first.filter(|_| !is_wrong && !read.is_empty()) {
            Some(first) => first.call0().map(drop),
            None => Ok(()),
        };
        if is_wrong || applied.is_err() {
            core.leave_files(&read);
        }
        applied?;
        let reports: Vec<_> = py.detach(|| match is_wrong {
            true => read.into_iter().filter(ReadConfig::is_wrong).map(ReadConfig::left).collect(),
            false => read.into_iter().map(|file| core.apply_file(file)).collect(),
        });
        Ok(reports.into_iter().map(|(path, report)| (path, reported(report))).collect())
    }

    fn load_value(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<JsonValue> {
        let core = self.core()?;
        let value = json::as_json("the configuration", value)?;
        Ok(reported(py.detach(|| core.load_value(&value))))
    }

    /// Adds one server; gives back what is odd about it. `asks_for`: a function gives its `token`, or its `headers`.
    #[pyo3(signature = (id, entry, asks_for=None))]
    fn add(
        &self,
        py: Python<'_>,
        id: &str,
        entry: &Bound<'_, PyAny>,
        asks_for: Option<&str>,
    ) -> PyResult<Vec<String>> {
        self.core()?;
        let entry = json::as_json("the configuration", entry)?;
        let (mut config, warnings) = server_from(id, &entry, None, &environment, None).map_err(refused)?;
        match asks_for {
            Some("headers") if !matches!(config.endpoint, Endpoint::Http(_)) => {
                return Err(PyValueError::new_err("headers are for a server with a url"));
            }
            Some("headers") => config.auth = Auth::HeaderFunction,
            Some(_) => config.auth = Auth::TokenFunction,
            None => {}
        }
        py.detach(|| self.put(config)).map_err(value_error)?;
        Ok(texts(&warnings))
    }

    /// False when there is no such server. It ends in the background.
    fn remove(&self, py: Python<'_>, id: &str) -> PyResult<bool> {
        let core = self.core()?;
        Ok(py.detach(|| core.remove(id)).map(retire).is_some())
    }

    fn rows(&self) -> PyResult<Vec<JsonValue>> {
        Ok(self.core()?.rows().into_iter().map(JsonValue).collect())
    }

    /// The tools of pinned servers: what was accepted, and what has changed.
    fn pins(&self, py: Python<'_>) -> PyResult<JsonValue> {
        let core = self.core()?;
        Ok(JsonValue(py.detach(|| core.pin_rows())))
    }

    /// Accepts the changed definitions of a server, or of one tool of it; says how many there were.
    #[pyo3(signature = (server, tool=None))]
    fn accept_pin(&self, py: Python<'_>, server: &str, tool: Option<&str>) -> PyResult<usize> {
        let core = self.core()?;
        Ok(py.detach(|| core.accept_pin(server, tool)))
    }

    /// Iterates over `(id, error or None)`: in the given order, or each as soon as it is known if `at_once` says how many may be
    /// on their way. With `refresh` they list their tools again.
    #[pyo3(signature = (ids, timeout, refresh=false, at_once=None))]
    fn connect(
        &self,
        ids: Option<Vec<String>>,
        timeout: Option<f64>,
        refresh: bool,
        at_once: Option<usize>,
    ) -> PyResult<BridgeStream> {
        let (core, timeout) = (self.core.clone(), seconds("timeout", timeout)?);
        let outcomes = async move {
            let (servers, lang) = (core.pick(ids.as_deref())?, core.lang());
            let error = move |error: HubError| ErrorValue(error.in_language(lang));
            let outcomes = core.connect(servers, timeout, refresh, at_once);
            Ok::<_, HubError>(
                outcomes.map(move |(id, outcome)| Ok((id.to_string(), outcome.err().map(error)))),
            )
        };
        Ok(bridge::stream(once(outcomes).try_flatten()))
    }

    /// The servers that have never listed their tools; each is returned once.
    fn take_never_listed(&self) -> Vec<String> {
        self.core.take_never_listed().iter().map(|id| id.to_string()).collect()
    }

    /// Waits until announced changes of these servers are in their lists, for at most the hub's `lookup_timeout`; without a
    /// change it does not wait.
    fn catch_up<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Bound<'py, BridgeFuture>> {
        let core = self.core.clone();
        bridge::run(py, async move {
            core.catch_up(&ids, core.lookup_timeout()).await;
            Ok(())
        })
    }

    /// Awaits `(entries, failed)`: what servers offer of one kind, and why some could not list it.
    fn offers<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        ids: Option<Vec<String>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        let (core, kind, extras) = (self.core.clone(), offer_kind(kind)?, offers::extras(py)?);
        let limit = seconds("timeout", timeout)?.unwrap_or(OFFER_TIMEOUT);
        bridge::run(py, async move {
            let lists = core.offers(kind, ids.as_deref(), extras.principal.as_ref(), limit).await?;
            Ok(offers::listed(lists, core.lang()))
        })
    }

    /// Awaits `(server, answer)`; without a server, of the only one that offers it.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyOfferQuery>,
        server: Option<String>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        let (core, extras, query) = (self.core.clone(), offers::extras(py)?, query.get().0.clone());
        let limit = seconds("timeout", timeout)?.unwrap_or(OFFER_TIMEOUT);
        bridge::run(py, async move {
            let (server, answer) = core.ask_about(&query, server.as_deref(), &extras, limit).await?;
            Ok((server.to_string(), JsonValue(Value::Object(answer))))
        })
    }

    /// Awaits the end of all servers, within `seconds`.
    fn aclose<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, BridgeFuture>> {
        let (core, limit) = (self.core.clone(), Duration::from_secs_f64(seconds));
        bridge::run(py, async move {
            let _ = tokio::time::timeout(limit, core.close()).await;
            Ok(())
        })
    }

    /// Ends all servers and waits for it without the GIL, for at most `seconds`.
    fn close(&self, py: Python<'_>, seconds: f64) {
        // In the child of a fork they are the parent's, and only the parent can end them.
        if self.generation != process::generation() || self.core.all().is_empty() {
            return;
        }
        let core = self.core.clone();
        py.detach(move || close_and_wait(vec![core], Duration::from_secs_f64(seconds)));
    }
}

impl PyServers {
    /// Those of this process: after a fork they are the parent's.
    pub fn core(&self) -> PyResult<&Arc<Servers>> {
        process::check_generation(self.generation).map(|()| &self.core)
    }

    pub fn put(&self, config: ServerConfig) -> Result<()> {
        if let Some(replaced) = self.core.add(config)? {
            retire(replaced);
        }
        Ok(())
    }
}

/// Closes the servers that loading has ended; the rest of its report is for Python.
fn reported(report: LoadReport) -> JsonValue {
    let value = serde_json::to_value(&report).unwrap_or_default();
    report.ended.into_iter().for_each(retire);
    JsonValue(value)
}

/// Ends a server that was removed or replaced, in the background, after its calls.
fn retire(server: Arc<Server>) {
    // Without a runtime it was never connected, and dropping it is enough.
    let _ = process::spawn(async move { server.retire().await });
}

fn close_and_wait(all: Vec<Arc<Servers>>, patience: Duration) {
    let (done, over) = std::sync::mpsc::channel::<()>();
    let closing = process::spawn(async move {
        join_all(all.iter().map(|servers| servers.close())).await;
        drop(done);
    });
    // No runtime, no connections.
    drop(closing);
    let _ = over.recv_timeout(patience);
}

/// At interpreter exit: ends the servers of all hubs, while the runtime is still there.
pub fn close_all(patience: Duration) {
    let begun = Instant::now();
    let all: Vec<_> = ALL.lock().drain(..).filter_map(|servers| servers.upgrade()).collect();
    if all.iter().any(|servers| !servers.all().is_empty()) {
        close_and_wait(all, patience.saturating_sub(begun.elapsed()));
    }
}

/// The default file for the tokens of logins. As text: a path would import pathlib, which the start of a hub has no time for.
#[pyfunction]
pub fn usual_token_file() -> Option<OsString> {
    TokenStore::default_path().map(PathBuf::into_os_string)
}

/// In the child of a fork: the parent's servers are the parent's.
pub fn forget_servers() {
    std::mem::forget(process::take_after_fork(&ALL));
    #[cfg(target_os = "linux")]
    stdio::forget_sentinel();
}
