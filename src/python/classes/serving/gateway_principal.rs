//! The function of the user that names the caller of a request to the gateway. It is called as a tool of the served hub is: in a
//! task on the loop of the serving program, which is cancelled when the request does not wait any more.

use crate::drivers::served_call;
use crate::prelude::*;
use crate::runtime::tool_loops::{ServedLoop, ServedLoopGuard};
use crate::values::arguments::callable::Callable;
use crate::values::json::JsonValue;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;
use toolhub::gateway::{Principal, PrincipalFunction, UpstreamTokens};
use toolhub::model::Arguments;
use toolhub::tool::{BoxFuture, CallContext};

/// The loop on which the functions of a gateway run, while it is served.
pub type ServedPlace = Arc<Mutex<Option<(Arc<ServedLoop>, ServedLoopGuard)>>>;

/// The gateway gives up much sooner.
const LONGEST: Duration = Duration::from_secs(3600);

/// What a function may return about the caller.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCaller {
    name: String,
    view: Option<String>,
    claims: Option<Map<String, Value>>,
    #[serde(default)]
    upstream_token: UpstreamTokens,
}

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
    let named = NamedCaller::deserialize(&given).map_err(|_| PyValueError::new_err(KEYS))?;
    if named.name.is_empty() {
        return Err(PyValueError::new_err("authenticate returned an empty name"));
    }
    Ok(JsonValue(given))
}

/// The function as the gateway calls it: `authenticate(token, headers)` of `_serve_options`, around the one of the user.
pub fn principal_function(function: Arc<Callable>, place: ServedPlace) -> Arc<PrincipalFunction> {
    Arc::new(move |given: &HeaderMap, token: Option<&str>| -> BoxFuture<'static, _> {
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
            let named: Option<NamedCaller> = serde_json::from_value(answer.value).unwrap_or_default();
            Ok(named.map(|named| Principal {
                name: named.name.into(),
                view: named.view.map(Arc::from),
                claims: named.claims.unwrap_or_default(),
                upstream_tokens: named.upstream_token,
                ..Principal::default()
            }))
        })
    })
}
