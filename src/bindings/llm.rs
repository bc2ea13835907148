//! The chat client for Python: its tools, put into a hub of their own.

use super::hub::Hub;
use super::json;
use crate::llm::{OpenAi, OpenAiConfig, Secret, tools};
use crate::model::Source;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use std::time::Duration;

/// Registers the tools of a chat client in `hub`; what is None comes from the environment or the defaults. Gives back the
/// base URL, without secrets, for showing.
#[pyfunction]
#[pyo3(signature = (hub, model, base_url, api_key, timeout, max_retries, temperature, max_tokens, headers, extra))]
#[expect(clippy::too_many_arguments, reason = "one for each option of toolhub.llm.OpenAI")]
pub fn register_chat_client(
    hub: &Bound<'_, Hub>,
    model: &str,
    base_url: Option<String>,
    api_key: Option<String>,
    timeout: f64,
    max_retries: u32,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    headers: Vec<(String, String)>,
    extra: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let mut config = OpenAiConfig::from_env(model);
    config.base_url = base_url.unwrap_or(config.base_url);
    config.api_key = api_key.map_or(config.api_key, Secret::new);
    config.timeout = Duration::try_from_secs_f64(timeout).map_err(|_| {
        PyValueError::new_err(format!("timeout must be a number of seconds, 0 or more, got {timeout}"))
    })?;
    config.max_retries = max_retries;
    config.temperature = temperature;
    config.max_tokens = max_tokens;
    config.headers = headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
    config.extra = match json::from_python(extra) {
        Ok(Value::Object(map)) => map,
        Ok(_) => return Err(PyValueError::new_err("extra must be a mapping of fields of the request")),
        Err(reason) => return Err(PyValueError::new_err(format!("extra must be JSON: {reason}"))),
    };
    let client = OpenAi::new(config).map_err(|error| PyValueError::new_err(error.message))?;
    for tool in tools(client) {
        Hub::enroll(hub, Source::Tools, None, None, tool);
    }
    Ok(())
}
