//! What a gateway is given from Python: its options, and the function that names callers.

use crate::classes::options::named;
use crate::drivers::served_call;
use crate::prelude::*;
use crate::runtime::tool_loops::{ServedLoop, ServedLoopGuard};
use crate::values::arguments::callable::Callable;
use crate::values::json::JsonValue;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;
use toolhub::gateway::{
    AuditLog, AuthenticationOptions, Authenticator, GatewayOptions, Principal, PrincipalFunction,
    SessionKeys, View, Views, core_names,
};
use toolhub::model::Arguments;
use toolhub::pattern::PatternList;
use toolhub::sources::mcp::config::{environment, section};
use toolhub::tool::{BoxFuture, CallContext};

/// The options of `toolhub._core.Gateway` that are read here.
#[derive(Deserialize)]
struct PythonAccess {
    search_mode: String,
    core: Vec<String>,
    session_keys: Vec<String>,
    views: Vec<PythonView>,
    audit: Option<PathBuf>,
}

#[derive(Deserialize)]
struct PythonView {
    name: String,
    tools: Option<Vec<String>>,
    resources: Option<Vec<String>>,
    prompts: Option<Vec<String>>,
    effects: String,
    calls_per_minute: Option<u32>,
    core: Vec<String>,
    search_mode: String,
    instructions: Option<String>,
}

/// The options of a gateway, whose types `toolhub.hub._serve_options` has checked. One that runs has an open audit log, and keys
/// that may have been rotated.
pub fn gateway_options(
    given: &Bound<'_, PyAny>,
    function: Option<Arc<PrincipalFunction>>,
    is_running: bool,
) -> PyResult<GatewayOptions> {
    let py = given.py();
    let given = json::from_python(given)
        .map_err(|reason| PyValueError::new_err(format!("the options of the gateway: {reason}")))?;
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut options = GatewayOptions::deserialize(&given).map_err(wrong)?;
    let mut authentication = AuthenticationOptions::deserialize(&given).map_err(wrong)?;
    let mut access = PythonAccess::deserialize(&given).map_err(wrong)?;
    if is_running {
        (access.audit, access.session_keys) = (None, Vec::new());
    }
    let failed = |error: HubError| tool_error(py, &error);
    let standard = View {
        search_mode: named("search_mode", &access.search_mode)?,
        core: core_names(&access.core),
        ..View::everything()
    };
    let views = access.views.into_iter().map(view).collect::<PyResult<Vec<_>>>()?;
    options.path = checked_path("path", "/mcp", &options.path)?;
    let sse_path = options.sse_path.as_deref();
    options.sse_path = sse_path.map(|path| checked_path("sse_path", "/sse", path)).transpose()?;
    if options.sse_path.as_ref() == Some(&options.path) {
        let path = &options.path;
        let text = format!("path and sse_path must differ, got {path:?} for both");
        return Err(PyValueError::new_err(text));
    }
    options.views = Some(Views::new(standard, views).map_err(failed)?);
    options.give_back = crate::runtime::give_back;
    if !access.session_keys.is_empty() {
        let keys = SessionKeys::new(access.session_keys.iter().map(String::as_str)).map_err(failed)?;
        options.session_keys = Some(Arc::new(keys));
    }
    authentication.function = function;
    options.authenticator = Some(Arc::new(Authenticator::new(authentication).map_err(failed)?));
    if let Some(path) = access.audit {
        let log = AuditLog::file(&path).map_err(failed)?;
        options.audit = Some(Arc::new(match access.session_keys.first() {
            Some(secret) => log.with_secret(secret),
            None => log,
        }));
    }
    Ok(options)
}

/// The options of `toolhub serve` in a configuration file, as a mapping; None if there are none.
#[pyfunction]
pub fn serve_section(py: Python<'_>, path: PathBuf) -> PyResult<Option<JsonValue>> {
    let section = py.detach(|| section(&path, "serve", &environment)).map_err(PyValueError::new_err)?;
    match section {
        None => Ok(None),
        Some(options @ Value::Object(_)) => Ok(Some(JsonValue(options))),
        Some(_) => Err(PyValueError::new_err("`serve` must be an object with the options of serving")),
    }
}

fn view(given: PythonView) -> PyResult<View> {
    let patterns = |given: Option<Vec<String>>| {
        given.map(|given| Arc::new(PatternList::new(given.iter().map(String::as_str))))
    };
    Ok(View {
        name: Arc::from(given.name),
        tools: patterns(given.tools),
        resources: patterns(given.resources),
        prompts: patterns(given.prompts),
        effects: named("effects", &given.effects)?,
        calls_per_minute: given.calls_per_minute,
        core: core_names(&given.core),
        search_mode: named("search_mode", &given.search_mode)?,
        instructions: given.instructions.map(Arc::from),
        ..View::default()
    })
}

fn checked_path(what: &str, example: &str, path: &str) -> PyResult<Arc<str>> {
    if path.starts_with('/') && !path.contains(['?', '#', ' ']) {
        return Ok(Arc::from(if path.len() > 1 { path.trim_end_matches('/') } else { path }));
    }
    Err(PyValueError::new_err(format!("{what} must be a path such as '{example}', got '{path}'")))
}

// The function of the user that names the caller of a request to the gateway. It is called as a tool of the served hub is: in a
// task on the loop of the serving program, which is cancelled when the request does not wait any more.

/// The loop on which the functions of a gateway run, while it is served.
pub type ServedPlace = Arc<Mutex<Option<(Arc<ServedLoop>, ServedLoopGuard)>>>;

/// The gateway gives up much sooner.
const LONGEST: Duration = Duration::from_secs(3600);

/// What the user's function has returned, which is not None, as a mapping. Errors show no value: it may be a token.
#[pyfunction]
#[pyo3(signature = (answer) -> "dict[str, Any]")]
pub fn named_caller(answer: &Bound<'_, PyAny>) -> PyResult<JsonValue> {
    const KEYS: &str = "authenticate must return a mapping with 'name' and perhaps 'view', 'claims' and 'upstream_token' \
                        (text, or a mapping from servers to texts)";
    let given = if let Ok(name) = answer.cast::<PyString>() {
        json!({"name": name.to_str()?})
    } else if answer.hasattr(intern!(answer.py(), "keys"))? {
        json::from_python(answer).map_err(|_| PyValueError::new_err(KEYS))?
    } else {
        let kind = answer.get_type().name()?;
        let text = format!("authenticate must return a name, a mapping or None, got {kind}");
        return Err(PyTypeError::new_err(text));
    };
    let named = Principal::deserialize(&given).map_err(|_| PyValueError::new_err(KEYS))?;
    if named.name.is_empty() {
        return Err(PyValueError::new_err("authenticate returned an empty name"));
    }
    Ok(JsonValue(given))
}

/// The function as the gateway calls it: `authenticate(token, headers)` of `_serve_options`, around the one of the user.
pub fn principal_function(
    function: Option<Arc<Callable>>,
    place: &ServedPlace,
) -> Option<Arc<PrincipalFunction>> {
    let (function, place) = (function?, place.clone());
    Some(Arc::new(move |given: &HeaderMap, token: Option<&str>| -> BoxFuture<'static, _> {
        let mut headers: BTreeMap<&str, String> = BTreeMap::new();
        for (name, value) in given {
            let value: String = value.as_bytes().iter().copied().map(char::from).collect();
            let several = headers.entry(name.as_str());
            several.and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
        }
        let given = [("token".to_owned(), json!(token)), ("headers".to_owned(), json!(headers))];
        let given = Arguments::new(Map::from_iter(given));
        let (function, place) = (function.clone(), place.lock().as_ref().map(|(place, _)| place.clone()));
        Box::pin(async move {
            let place = place.ok_or_else(|| HubError::new(ErrorKind::Closed, "Serving has ended."))?;
            let ctx = CallContext::new(Instant::now() + LONGEST, CancellationToken::new());
            let answer = served_call::call(place, function, &given, &ctx).await?;
            // It was read once; nobody is named by null.
            Ok(serde_json::from_value(answer.value).unwrap_or_default())
        })
    }))
}
