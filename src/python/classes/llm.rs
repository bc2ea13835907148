//! The chat client, as Python sees it.

use crate::classes::options::GivenOptions;
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture, BridgeStream};
use crate::values::errors::value_error;
use crate::values::json::JsonValue;
use futures_util::future::ready;
use futures_util::stream::{Stream, TryStreamExt, once, try_unfold};
use toolhub::error::Result;
use toolhub::llm::{OpenAi, OpenAiConfig, Secret};
use toolhub::sources::mcp::config::environment;

/// A client of one model at one endpoint. What is None comes from the environment or the defaults.
#[pyclass(frozen, module = "toolhub._core")]
pub struct ChatClient(OpenAi);

#[pymethods]
impl ChatClient {
    #[new]
    fn new(model: &str, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let given = GivenOptions(options);
        let (usual, secret) = (OpenAiConfig::from_env(model, environment), |text: String| Secret::new(text));
        let headers: Vec<(String, String)> = given.get("headers", "a list of pairs")?.unwrap_or_default();
        let extra: Option<Bound<'_, PyAny>> = given.get("extra", "a mapping")?;
        let config = OpenAiConfig {
            base_url: given.get("base_url", "text")?.unwrap_or(usual.base_url),
            api_key: given.get("api_key", "text")?.map_or(usual.api_key, secret),
            timeout: given.seconds("timeout")?.unwrap_or(usual.timeout),
            max_retries: given.get("max_retries", "a whole number")?.unwrap_or(usual.max_retries),
            temperature: given.get("temperature", "a number")?,
            max_tokens: given.get("max_tokens", "a whole number")?,
            headers: headers.into_iter().map(|(name, value)| (name, secret(value))).collect(),
            extra: extra.map(|extra| json::as_object("extra", &extra)).transpose()?.unwrap_or_default(),
            ..usual
        };
        OpenAi::new(config).map(ChatClient).map_err(value_error)
    }

    /// Awaits the whole answer: `text`, `finish_reason`, `usage`, `model`, `raw`.
    fn chat<'py>(&self, messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, BridgeFuture>> {
        let (py, client, messages) = (messages.py(), self.0.clone(), read_messages(messages)?);
        bridge::run(py, async move {
            let answer = client.chat(&messages).await?;
            Ok(JsonValue(serde_json::to_value(&answer).unwrap_or_default()))
        })
    }

    /// Iterates over the pieces of text of the answer. The request is sent when the first one is awaited.
    fn stream(&self, messages: &Bound<'_, PyAny>) -> PyResult<BridgeStream> {
        let messages = read_messages(messages)?;
        Ok(bridge::stream(texts(self.0.clone(), messages)))
    }
}

fn texts(client: OpenAi, messages: Vec<Value>) -> impl Stream<Item = Result<String>> {
    let open = async move { client.stream(&messages).await };
    let texts = once(open).map_ok(|stream| {
        try_unfold(stream, |mut stream| async move {
            Ok(stream.next().await.transpose()?.map(|text| (text, stream)))
        })
    });
    texts.try_flatten().try_filter(|text| ready(!text.is_empty()))
}

fn read_messages(given: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    if let Ok(Value::Array(list)) = json::from_python(given)
        && !list.is_empty()
    {
        return Ok(list);
    }
    let text = "messages must be a list of chat messages with a role and a content, such as \
                {\"role\": \"user\", \"content\": \"Hello\"}.";
    Err(tool_error(given.py(), &HubError::new(ErrorKind::InvalidArguments, text)))
}
