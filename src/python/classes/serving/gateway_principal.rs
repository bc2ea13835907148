//! The function of the user that names the caller of a request to the gateway.
//!
//! A runtime thread sends one message to the loop of the serving program and awaits the answer; it never takes the GIL. On the
//! loop the function runs in a task of its own, which is cancelled when the request does not wait any more.

use crate::prelude::*;
use crate::runtime::loop_bridge::{LoopBridge, Mail};
use crate::runtime::tool_loops::{ServedLoop, ServedLoopGuard};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::Map;
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use toolhub::gateway::{Principal, PrincipalFunction, UpstreamTokens};
use toolhub::tool::BoxFuture;

/// The loop on which the functions of a gateway run, while it is served.
pub type ServedPlace = Arc<Mutex<Option<(Arc<ServedLoop>, ServedLoopGuard)>>>;

/// An async function `(token, headers, answer)` of `_serve_options`, around the one of the user.
#[derive(Clone, Default)]
pub struct AuthenticateFunction(Arc<Mutex<Option<Py<PyAny>>>>);

impl AuthenticateFunction {
    pub fn new(function: Py<PyAny>) -> Self {
        AuthenticateFunction(Arc::new(Mutex::new(Some(function))))
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Locked means that another thread reads it now, so it is in use.
        self.0.try_lock().map_or(Ok(()), |function| visit.call(&*function))
    }

    pub fn clear(&self) {
        let function = self.0.lock().take();
        drop(function);
    }
}

/// What a function may return about the caller.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCaller {
    name: String,
    view: Option<String>,
    claims: Option<Map<String, Value>>,
    #[serde(default)]
    upstream_token: UpstreamTokens,
}

/// Reads what the user's function has returned, which is not None. Errors show no value: it may be a token.
fn read_principal(answer: &Bound<'_, PyAny>) -> PyResult<Principal> {
    let named = if let Ok(name) = answer.cast::<PyString>() {
        NamedCaller { name: name.to_str()?.to_owned(), ..NamedCaller::default() }
    } else if answer.hasattr(intern!(answer.py(), "keys"))? {
        const KEYS: &str = "authenticate must return a mapping with 'name' and perhaps 'view', 'claims' and 'upstream_token' \
                            (text, or a mapping from servers to texts)";
        let value = json::from_python(answer).map_err(|_| PyValueError::new_err(KEYS))?;
        serde_json::from_value(value).map_err(|_| PyValueError::new_err(KEYS))?
    } else {
        let kind = answer.get_type().name()?;
        let text = format!("authenticate must return a name, a mapping or None, got {kind}");
        return Err(PyTypeError::new_err(text));
    };
    if named.name.is_empty() {
        return Err(PyValueError::new_err("authenticate returned an empty name"));
    }
    Ok(Principal {
        name: named.name.into(),
        view: named.view.map(Arc::from),
        claims: named.claims.unwrap_or_default(),
        upstream_tokens: named.upstream_token,
        ..Principal::default()
    })
}

type NamedOrRefused = Result<Option<Principal>, HubError>;

/// The function as the gateway calls it.
pub fn principal_function(function: AuthenticateFunction, place: ServedPlace) -> Arc<PrincipalFunction> {
    Arc::new(move |given: &HeaderMap, token: Option<&str>| -> BoxFuture<'static, NamedOrRefused> {
        let token = token.map(str::to_owned);
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in given {
            let value: String = value.as_bytes().iter().copied().map(char::from).collect();
            let several = headers.entry(name.as_str().to_owned());
            several.and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
        }
        let function = function.clone();
        let place = place.lock().as_ref().map(|(place, _)| place.clone());
        Box::pin(async move {
            let ended = || HubError::new(ErrorKind::Closed, "Serving has ended.");
            let place = place.ok_or_else(ended)?;
            let (answer, answered) = oneshot::channel();
            let task: TaskCell = Arc::default();
            let _guard = TaskGuard { place: place.clone(), task: task.clone() };
            let on = place.clone();
            place.push(Mail::Run(Box::new(move |bridge| {
                let started = start(bridge, &on, &function, (token, headers), answer);
                match started {
                    Ok(started) => *task.lock() = Some(started),
                    // The request learns of it, because what would answer is dropped.
                    Err(error) => error.write_unraisable(bridge.py(), Some(bridge.as_any())),
                }
            })));
            answered.await.unwrap_or_else(|_| Err(ended()))
        })
    })
}

/// The task of a function that runs. It holds the task: asyncio itself holds tasks only weakly.
type TaskCell = Arc<Mutex<Option<Py<PyAny>>>>;

/// Cancels the task when the request does not wait any more. A task that has ended is not changed by it.
struct TaskGuard {
    place: Arc<ServedLoop>,
    task: TaskCell,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        let task = self.task.clone();
        self.place.push(Mail::Run(Box::new(move |bridge| {
            let py = bridge.py();
            let task = task.lock().take();
            let cancelled = task.map(|task| task.call_method0(py, intern!(py, "cancel")));
            show_unraisable(cancelled.transpose(), bridge.as_any());
        })));
    }
}

fn start(
    bridge: &Bound<'_, LoopBridge>,
    place: &ServedLoop,
    function: &AuthenticateFunction,
    (token, headers): (Option<String>, BTreeMap<String, String>),
    answer: oneshot::Sender<NamedOrRefused>,
) -> PyResult<Py<PyAny>> {
    let py = bridge.py();
    let function = function.0.lock().as_ref().map(|function| function.clone_ref(py));
    let function = function.ok_or_else(|| PyValueError::new_err("the gateway has no function any more"))?;
    let answer = Bound::new(py, PrincipalAnswer(Mutex::new(Some(answer))))?;
    let coroutine = function.bind(py).call1((token, headers, &answer))?;
    let task = bridge.get().create_task_in(py, coroutine, place.context(py)?.unbind())?;
    task.call_method1(intern!(py, "add_done_callback"), (answer.getattr(intern!(py, "release"))?,))?;
    Ok(task.unbind())
}

/// Takes what the function has returned; it raises if nobody is named by that.
#[pyclass(frozen, module = "toolhub._core")]
pub struct PrincipalAnswer(Mutex<Option<oneshot::Sender<NamedOrRefused>>>);

#[pymethods]
impl PrincipalAnswer {
    fn __call__(&self, answer: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let named = answer.map(read_principal).transpose()?;
        if let Some(sender) = self.0.lock().take() {
            // A request that has gone does not want it.
            let _ = sender.send(Ok(named));
        }
        Ok(())
    }

    /// Lets the request go on when the task has ended without an answer: a traceback may keep this object.
    fn release(&self, _task: &Bound<'_, PyAny>) {
        drop(self.0.lock().take());
    }
}
