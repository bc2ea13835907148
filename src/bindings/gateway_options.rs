//! The options of a gateway, from Python.

use super::errors::tool_error;
use super::json;
use crate::error::HubError;
use crate::gateway::{
    AuditLog, AuthenticationOptions, Authenticator, EffectsAllowed, GatewayOptions, SearchMode, StaticToken,
    View, Views,
};
use crate::pattern::PatternList;
use crate::secret::Secret;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The keyword arguments of `toolhub._core.Gateway`; `toolhub.hub._serve_methods` has checked their types.
#[derive(Deserialize)]
pub struct PythonGatewayOptions {
    path: String,
    sse_path: Option<String>,
    name: String,
    instructions: Option<String>,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    max_body: Option<usize>,
    search_mode: String,
    core: Vec<String>,
    tokens: Vec<PythonToken>,
    views: Vec<PythonView>,
    audit: Option<PathBuf>,
}

/// Who has this token, and the one view that they see.
#[derive(Deserialize)]
struct PythonToken {
    name: String,
    token: String,
    view: Option<String>,
}

#[derive(Deserialize)]
struct PythonView {
    name: String,
    tools: Option<Vec<String>>,
    effects: String,
    calls_per_minute: Option<u32>,
    core: Vec<String>,
    search_mode: String,
    instructions: Option<String>,
}

impl PythonGatewayOptions {
    pub fn read(options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |reason: String| PyValueError::new_err(format!("the options of the gateway: {reason}"));
        let options = json::from_python(options).map_err(wrong)?;
        serde_json::from_value(options).map_err(|error| wrong(error.to_string()))
    }

    pub fn into_options(self, py: Python<'_>) -> PyResult<GatewayOptions> {
        let failed = |error: HubError| tool_error(py, &error);
        let standard = View {
            search_mode: search_mode(&self.search_mode)?,
            core: shared(self.core),
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
            views: Some(Views::new(standard, views).map_err(failed)?),
            ..GatewayOptions::default()
        };
        options.max_body = self.max_body.unwrap_or(options.max_body);
        if !self.tokens.is_empty() {
            let tokens = self.tokens.into_iter().map(|given| StaticToken {
                name: given.name,
                token: Secret::new(given.token),
                view: given.view.map(Arc::from),
                upstream_token: None,
            });
            let authentication =
                AuthenticationOptions { tokens: tokens.collect(), ..AuthenticationOptions::default() };
            options.authenticator = Some(Arc::new(Authenticator::new(authentication).map_err(failed)?));
        }
        if let Some(path) = self.audit {
            options.audit = Some(Arc::new(AuditLog::file(&path).map_err(failed)?));
        }
        Ok(options)
    }
}

fn view(given: PythonView) -> PyResult<View> {
    let names: Vec<&str> = EffectsAllowed::ALL.iter().map(|effects| effects.name()).collect();
    let effects = EffectsAllowed::parse(&given.effects);
    Ok(View {
        name: Arc::from(given.name),
        tools: given.tools.map(|tools| Arc::new(PatternList::new(tools.iter().map(String::as_str)))),
        effects: effects.ok_or_else(|| unknown("effects", &given.effects, &names))?,
        calls_per_minute: given.calls_per_minute,
        core: shared(given.core),
        search_mode: search_mode(&given.search_mode)?,
        instructions: given.instructions.map(Arc::from),
    })
}

fn search_mode(name: &str) -> PyResult<SearchMode> {
    let names: Vec<&str> = SearchMode::ALL.iter().map(|mode| mode.name()).collect();
    SearchMode::parse(name).ok_or_else(|| unknown("search_mode", name, &names))
}

fn unknown(what: &str, given: &str, known: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{what} must be one of {}, got '{given}'", known.join(", ")))
}

fn shared(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Arc::from).collect()
}

fn checked_path<'a>(what: &str, example: &str, path: &'a str) -> PyResult<&'a str> {
    if path.starts_with('/') && !path.contains(['?', '#', ' ']) {
        return Ok(if path.len() > 1 { path.trim_end_matches('/') } else { path });
    }
    Err(PyValueError::new_err(format!("{what} must be a path such as '{example}', got '{path}'")))
}
