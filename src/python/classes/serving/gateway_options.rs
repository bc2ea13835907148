//! The options of a gateway, from Python.

use crate::classes::options::{named, seconds};
use crate::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use toolhub::gateway::{
    AuditLog, AuthenticationOptions, Authenticator, GatewayLimits, GatewayOptions, JwtOptions,
    PrincipalFunction, SessionKeys, StaticToken, View, Views, core_names,
};
use toolhub::pattern::PatternList;
use toolhub::secret::Secret;
use toolhub::sources::mcp::config::section;

/// The keyword arguments of `toolhub._core.Gateway`; `toolhub.hub._serve_options` has checked their types.
#[derive(Deserialize)]
pub struct PythonGatewayOptions {
    path: String,
    sse_path: Option<String>,
    name: String,
    instructions: Option<String>,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    max_body: Option<usize>,
    max_result: Option<usize>,
    search_mode: String,
    core: Vec<String>,
    tokens: Vec<StaticToken>,
    jwt: Option<JwtOptions>,
    authenticate_timeout: Option<f64>,
    resource_metadata: Option<String>,
    metrics_token: Option<Secret>,
    /// The numbers and seconds that replace the defaults.
    limits: GatewayLimits,
    session_lifetime: Option<f64>,
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

impl PythonGatewayOptions {
    pub fn read(options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let options = json::from_python(options)
            .map_err(|reason| PyValueError::new_err(format!("the options of the gateway: {reason}")))?;
        serde_json::from_value(options).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The options of a gateway that runs: its audit log is open, and its keys may have been rotated.
    pub fn into_reloaded(
        self,
        py: Python<'_>,
        function: Option<Arc<PrincipalFunction>>,
    ) -> PyResult<GatewayOptions> {
        PythonGatewayOptions { audit: None, session_keys: Vec::new(), ..self }.into_options(py, function)
    }

    pub fn into_options(
        self,
        py: Python<'_>,
        function: Option<Arc<PrincipalFunction>>,
    ) -> PyResult<GatewayOptions> {
        let failed = |error: HubError| tool_error(py, &error);
        let standard = View {
            search_mode: named("search_mode", &self.search_mode)?,
            core: core_names(&self.core),
            ..View::everything()
        };
        let views = self.views.into_iter().map(view).collect::<PyResult<Vec<_>>>()?;
        let path = checked_path("path", "/mcp", &self.path)?;
        let sse_path =
            self.sse_path.as_deref().map(|path| checked_path("sse_path", "/sse", path)).transpose()?;
        if sse_path == Some(path) {
            return Err(PyValueError::new_err(format!(
                "path and sse_path must differ, got {path:?} for both"
            )));
        }
        let mut options = GatewayOptions {
            path: Arc::from(path),
            sse_path: sse_path.map(Arc::from),
            name: Arc::from(self.name),
            instructions: self.instructions.map(Arc::from),
            allowed_hosts: self.allowed_hosts,
            allowed_origins: self.allowed_origins,
            max_result: self.max_result,
            limits: self.limits,
            views: Some(Views::new(standard, views).map_err(failed)?),
            give_back: crate::runtime::give_back,
            ..GatewayOptions::default()
        };
        options.max_body = self.max_body.unwrap_or(options.max_body);
        if let Some(lifetime) = seconds("session_lifetime", self.session_lifetime)? {
            options.session_lifetime = lifetime;
        }
        if !self.session_keys.is_empty() {
            let keys = SessionKeys::new(self.session_keys.iter().map(String::as_str)).map_err(failed)?;
            options.session_keys = Some(Arc::new(keys));
        }
        let authentication = AuthenticationOptions {
            tokens: self.tokens,
            jwt: self.jwt,
            function,
            resource_metadata: self.resource_metadata,
            metrics_token: self.metrics_token,
            function_timeout: seconds("authenticate_timeout", self.authenticate_timeout)?,
        };
        options.authenticator = Some(Arc::new(Authenticator::new(authentication).map_err(failed)?));
        if let Some(path) = self.audit {
            let log = AuditLog::file(&path).map_err(failed)?;
            options.audit = Some(Arc::new(match self.session_keys.first() {
                Some(secret) => log.with_secret(secret),
                None => log,
            }));
        }
        Ok(options)
    }
}

/// The options of `toolhub serve` in a configuration file, as a mapping; None if there are none.
#[pyfunction]
pub fn serve_section<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Option<Bound<'py, PyAny>>> {
    let environment = |name: &str| std::env::var(name).ok();
    let section = py.detach(|| section(&path, "serve", &environment)).map_err(PyValueError::new_err)?;
    match section {
        None => Ok(None),
        Some(options @ Value::Object(_)) => json::to_python(py, &options).map(Some),
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

fn checked_path<'a>(what: &str, example: &str, path: &'a str) -> PyResult<&'a str> {
    if path.starts_with('/') && !path.contains(['?', '#', ' ']) {
        return Ok(if path.len() > 1 { path.trim_end_matches('/') } else { path });
    }
    Err(PyValueError::new_err(format!("{what} must be a path such as '{example}', got '{path}'")))
}
