//! A checked configuration: the URL to post to, the headers, the fixed part of the body, and what must
//! never be shown. Every problem of the configuration is reported here, before anything is sent.

use crate::web::{WrongHeader, checked_header};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Url};
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;
use toolhub_protocol::net::{self, Backoff, percent_decoded};
use toolhub_text::message::Message;
use toolhub_text::secret::{Redactor, Secret};
use toolhub_types::error::{ErrorKind, HubError, Result};

/// How long a connection waits for the next request: the calls of one task, not those of a day.
const IDLE: Duration = Duration::from_secs(30);
/// Shorter keys are fillers ("x", "-") for local servers, and hiding them would only garble the errors.
const SHORTEST_KEY: usize = 4;
/// Values of headers and query parameters that are shorter are words, not secrets.
const SHORTEST_HIDDEN_VALUE: usize = 8;

/// What all clones and streams of a client share.
pub(super) struct ChatEndpoint {
    pub(super) http: Client,
    /// With user and password, if the base URL has them: reqwest turns them into a header.
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    body: Map<String, Value>,
    pub(super) redactor: Redactor,
    /// Scheme, host and port: what an error may name.
    pub(super) origin: String,
    pub(super) config: OpenAiConfig,
}

impl ChatEndpoint {
    pub(super) fn new(config: OpenAiConfig) -> Result<Self> {
        let url = chat_url(&config.base_url)?;
        Ok(Self {
            headers: headers(&config)?,
            body: body(&config)?,
            redactor: Redactor::new(secrets(&config, &url)),
            origin: url.origin().ascii_serialization(),
            http: http_client(&url)?,
            config,
            url,
        })
    }

    /// The request body for these messages.
    pub(super) fn request(&self, messages: &[Value], stream: bool) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        struct ChatBody<'a> {
            #[serde(flatten)]
            fixed: &'a Map<String, Value>,
            messages: &'a [Value],
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            stream: bool,
        }
        if messages.is_empty() {
            return Err(config_error("A chat needs at least one message; none was given."));
        }
        // They are sent as they are.
        if !messages.iter().all(|message| message.get("role").is_some_and(Value::is_string)) {
            return Err(config_error(
                "A chat message must be an object with a text `role`, such as {\"role\": \"user\", \"content\": \"…\"}.",
            ));
        }
        let fixed = &self.body;
        serde_json::to_vec(&ChatBody { fixed, messages, stream })
            .map_err(|error| config_error(format!("The messages cannot be written as JSON: {error}.")))
    }
}

/// Proxies are taken from the environment, but not for this machine.
fn http_client(url: &Url) -> Result<Client> {
    let builder = net::builder().no_gzip().pool_idle_timeout(IDLE);
    let builder = if net::needs_no_proxy(url) { builder.no_proxy() } else { builder };
    net::build(builder, url.scheme() == "http").map_err(|error| {
        config_error(format!(
            "The HTTP client cannot be set up: {error}; for https the system needs its CA certificates (or SSL_CERT_FILE)."
        ))
    })
}

/// The base URL with `/chat/completions`; a query (`?api-version=…`) stays after it.
fn chat_url(base_url: &str) -> Result<Url> {
    const EXPECTED: &str = "expected something like http://127.0.0.1:8000/v1";
    // The value itself is not shown: it may hold a password in a form that does not parse.
    let mut url = Url::parse(base_url.trim())
        .map_err(|error| config_error(format!("base_url is not a URL ({error}); {EXPECTED}.")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(config_error(format!(
            "base_url must begin with http:// or https://, and not with {}:; {EXPECTED}.",
            url.scheme()
        )));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    if !path.ends_with("/chat/completions") {
        let path = format!("{path}/chat/completions");
        url.set_path(&path);
    }
    Ok(url)
}

fn headers(config: &OpenAiConfig) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    let key = config.api_key.expose();
    if !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(config_error(
            "The API key must be printable ASCII without spaces; check OPENAI_API_KEY or api_key for stray characters.",
        ));
    }
    let bearer = ("authorization".to_owned(), Secret::new(format!("Bearer {key}")));
    for (name, value) in Some(&bearer).filter(|_| !key.is_empty()).into_iter().chain(&config.headers) {
        let wrong = |wrong| {
            config_error(match wrong {
                WrongHeader::Name => format!("{name:?} is not a header name."),
                WrongHeader::Value => {
                    format!(
                        "The value of the header {name:?} contains characters that are not allowed in a header."
                    )
                }
            })
        };
        let (name, value) = checked_header(name, value.expose()).map_err(wrong)?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn body(config: &OpenAiConfig) -> Result<Map<String, Value>> {
    if config.model.trim().is_empty() {
        return Err(config_error("A model endpoint needs the name of a model; pass model=…."));
    }
    let mut body = Map::new();
    body.insert("model".into(), config.model.clone().into());
    if let Some(temperature) = config.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(max_tokens) = config.max_tokens {
        body.insert("max_tokens".into(), max_tokens.into());
    }
    for (name, value) in &config.extra {
        if matches!(name.as_str(), "messages" | "stream" | "model") {
            return Err(config_error(format!(
                "`{name}` cannot be an extra body field: it is set by the client itself."
            )));
        }
        body.insert(name.clone(), value.clone());
    }
    Ok(body)
}

/// All that the server gets from us and could say back.
fn secrets(config: &OpenAiConfig, url: &Url) -> Vec<Secret> {
    let mut secrets = Vec::new();
    if config.api_key.expose().len() >= SHORTEST_KEY {
        secrets.push(config.api_key.clone());
    }
    if let Some(password) = url.password() {
        secrets.push(Secret::new(password));
        secrets.push(Secret::new(percent_decoded(password)));
    }
    let query = url.query_pairs().map(|(_, value)| value.into_owned());
    let headers = config.headers.iter().flat_map(|(_, value)| {
        // "Bearer abc…" may come back as "abc…".
        let value = value.expose();
        value.split_whitespace().chain([value]).map(str::to_owned)
    });
    secrets
        .extend(query.chain(headers).filter(|value| value.len() >= SHORTEST_HIDDEN_VALUE).map(Secret::new));
    secrets
}

// What a user may set. Plain data: it is checked when a client is made of it.

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
    pub fn from_env(model: impl Into<String>, look_up: impl Fn(&str) -> Option<String>) -> Self {
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
    use serde_json::json;
    use toolhub_types::error::ErrorKind;

    fn config(base_url: &str) -> OpenAiConfig {
        OpenAiConfig::new(base_url, "m")
    }

    fn url(base_url: &str) -> String {
        ChatEndpoint::new(config(base_url)).unwrap().url.to_string()
    }

    fn refused(config: OpenAiConfig) -> String {
        let error = ChatEndpoint::new(config).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidArguments);
        error.message.into_owned()
    }

    #[test]
    fn the_path_is_added_once_and_the_query_kept() {
        assert_eq!(url("http://h:1/v1"), "http://h:1/v1/chat/completions");
        assert_eq!(url(" http://h:1/v1/ "), "http://h:1/v1/chat/completions");
        assert_eq!(url("http://h"), "http://h/chat/completions");
        assert_eq!(url("https://h/v1/chat/completions#x"), "https://h/v1/chat/completions");
        assert_eq!(url("https://h/openai?api-version=1"), "https://h/openai/chat/completions?api-version=1");
    }

    #[test]
    fn what_cannot_work_is_refused_without_showing_it() {
        for base_url in ["", "hush", "ftp://hush@h/", "//hush@h", "http://", "http://a:hush@:1"] {
            let message = refused(config(base_url));
            assert!(message.contains("base_url") && !message.contains("hush"), "{message}");
        }
        let mut bad = config("http://h");
        bad.api_key = "hush hush".into();
        assert!(!refused(bad).contains("hush"));
        let mut bad = config("http://h");
        bad.headers = vec![("x".into(), "hush\n".into())];
        assert!(!refused(bad).contains("hush"));
        let mut bad = config("http://h");
        bad.headers = vec![("no good".into(), "x".into())];
        assert!(refused(bad).contains("no good"));
        assert!(refused(OpenAiConfig::new("http://h", " ")).contains("model"));
        for name in ["messages", "stream", "model"] {
            let mut bad = config("http://h");
            bad.extra.insert(name.into(), Value::Null);
            assert!(refused(bad).contains(name));
        }
    }

    #[test]
    fn the_body_holds_the_settings_and_the_messages() {
        let mut config = config("http://h");
        config.temperature = Some(0.5);
        config.max_tokens = Some(7);
        config.extra.insert("seed".into(), 3.into());
        let endpoint = ChatEndpoint::new(config).unwrap();
        let message = json!({"role": "user", "content": "hi"});
        let body = |stream| -> Value {
            let bytes = endpoint.request(std::slice::from_ref(&message), stream).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        let mut expected = json!({"model": "m", "temperature": 0.5, "max_tokens": 7, "seed": 3,
            "messages": [{"role": "user", "content": "hi"}]});
        assert_eq!(body(false), expected);
        expected["stream"] = true.into();
        assert_eq!(body(true), expected);
        assert!(endpoint.request(&[], false).is_err());
    }

    #[test]
    fn all_that_was_sent_is_hidden() {
        let mut config = config("https://me:p%40ss@h/v1?code=query-secret");
        config.api_key = "sk-1".into();
        config.headers = vec![("x-auth".into(), "Bearer header-secret".into())];
        let endpoint = ChatEndpoint::new(config).unwrap();
        assert_eq!(
            endpoint.redactor.quote("sk-1 p@ss p%40ss query-secret header-secret Bearer"),
            "*** *** *** *** *** Bearer"
        );
        assert!(!format!("{:?}", endpoint.headers).contains("sk-1"));
    }

    #[test]
    fn a_message_without_role_is_refused() {
        let endpoint = ChatEndpoint::new(OpenAiConfig::new("http://h/v1", "m")).unwrap();
        for value in [json!({"content": "x"}), json!("x"), json!({"role": 1})] {
            assert!(endpoint.request(&[value], false).is_err());
        }
    }
}

#[cfg(test)]
mod config_tests {
    use super::*;

    #[test]
    fn the_environment_gives_url_and_key() {
        let config = OpenAiConfig::from_env("m", |name| match name {
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
            let config = OpenAiConfig::from_env("m", |_| value.clone());
            assert_eq!(config.base_url, OPENAI_BASE_URL);
            assert!(config.api_key.is_empty());
        }
    }
}
