//! What a user may set. Plain data: it is checked when a client is made of it.

use std::time::Duration;
use toolhub_text::message::Message;

use serde_json::{Map, Value};

use toolhub_protocol::net::Backoff;
use toolhub_text::secret::Secret;
use toolhub_types::error::{ErrorKind, HubError};

/// Models are busy for seconds rather than milliseconds.
pub(super) const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(8));
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// The configuration, or a message, cannot work; nothing was sent.
pub(super) fn config_error(message: impl Into<Message>) -> HubError {
    HubError::new(ErrorKind::InvalidArguments, message)
}

/// Where the model is and how to ask it.
#[derive(Clone, PartialEq)]
pub struct OpenAiConfig {
    /// The part before `/chat/completions`, for example `http://127.0.0.1:8000/v1`.
    pub base_url: String,
    /// Sent as bearer token; empty for servers that need none.
    pub api_key: Secret,
    pub model: String,
    /// For the whole request: connecting, retries, waits between them and reading the answer.
    pub timeout: Duration,
    pub max_retries: u32,
    pub backoff: Backoff,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// More fields of the request body.
    pub extra: Map<String, Value>,
    /// More headers; their values count as secrets.
    pub headers: Vec<(String, Secret)>,
    /// The largest answer, in bytes.
    pub max_body: usize,
}

impl OpenAiConfig {
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: Secret::default(),
            model: model.into(),
            timeout: Duration::from_secs(10),
            max_retries: 2,
            backoff: BACKOFF,
            temperature: None,
            max_tokens: None,
            extra: Map::new(),
            headers: Vec::new(),
            max_body: 8 * 1024 * 1024,
        }
    }

    /// URL and key from `OPENAI_BASE_URL` and `OPENAI_API_KEY`; both may be missing.
    pub fn from_env(model: impl Into<String>) -> Self {
        Self::from_vars(model, |name| std::env::var(name).ok())
    }

    /// As [`from_env`](Self::from_env), with another place to look the variables up.
    pub fn from_vars(model: impl Into<String>, look_up: impl Fn(&str) -> Option<String>) -> Self {
        // A variable that is set but blank means "not set", and a key that was read from a file often
        // brings a line end along.
        let var = |name| {
            let value: String = look_up(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let base_url = var("OPENAI_BASE_URL").unwrap_or_else(|| OPENAI_BASE_URL.to_owned());
        Self { api_key: Secret::new(var("OPENAI_API_KEY").unwrap_or_default()), ..Self::new(base_url, model) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_gives_url_and_key() {
        let config = OpenAiConfig::from_vars("m", |name| match name {
            "OPENAI_BASE_URL" => Some("http://localhost:1/v1".into()),
            "OPENAI_API_KEY" => Some(" sk-from-file\n".into()),
            _ => None,
        });
        assert_eq!(config.base_url, "http://localhost:1/v1");
        assert_eq!(config.api_key, Secret::new("sk-from-file"));
        assert_eq!(config.timeout, Duration::from_secs(10));
        assert_eq!(config.max_retries, 2);
    }

    #[test]
    fn missing_and_blank_variables_are_the_same() {
        for value in [None, Some(" ".to_owned())] {
            let config = OpenAiConfig::from_vars("m", |_| value.clone());
            assert_eq!(config.base_url, OPENAI_BASE_URL);
            assert!(config.api_key.is_empty());
        }
    }
}
