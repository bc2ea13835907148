//! What a call came to, as a result of `tools/call`.

use super::tools::{unknown_tool, written};
use crate::Exchange;
use crate::era::{ResultKind, foreign_result};
use crate::rpc::RpcError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use toolhub_context::model_output::content::is_block;
use toolhub_engine::plan::CallResult;
use toolhub_types::blocking::{LARGE, block_if_large};
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::{ToolOutput, size_within};

/// The client cancelled the request. It does not expect an answer; on HTTP there has to be one.
const CANCELLED: i64 = -32800;

/// The answer to `tools/call`. What the tool or its server got wrong is a result with `isError`, so that a model reads it.
pub fn answer(exchange: &Exchange, tool: &str, called: CallResult) -> Result<String, RpcError> {
    let bytes = size(&called);
    // With it, because what was called is dropped there too.
    block_if_large(bytes, move || {
        let failure = called.outcome.as_ref().err().map(|error| error.outcome);
        let mut may_have_run = failure == Some(Outcome::Unknown);
        let mut answer = written_answer(exchange, tool, called);
        let most = exchange.gateway.options.max_result(&exchange.caller);
        if let Ok(text) = &answer
            && text.len() > most
        {
            answer = too_long(exchange, tool, text, most);
            // What says that a result is too long has the form of a failure.
            may_have_run |= failure.is_none();
        }
        if may_have_run { in_doubt(answer) } else { answer }
    })
}

/// An answer that says that the call may have run. An error of a server and a result with `isError` look more certain than that
/// to a hub in front of this one.
fn in_doubt(answer: Result<String, RpcError>) -> Result<String, RpcError> {
    match answer {
        Ok(text) => Ok(match serde_json::from_str::<Map<String, Value>>(&text) {
            Ok(mut result) => {
                let meta = RpcError::with_doubt(result.remove("_meta"));
                result.insert("_meta".to_owned(), meta);
                Value::Object(result).to_string()
            }
            Err(_) => text,
        }),
        Err(error) => Err(error.in_doubt()),
    }
}

/// Keeps a result that is longer than the client may get, and says how to read it.
fn too_long(exchange: &Exchange, tool: &str, answer: &str, most: usize) -> Result<String, RpcError> {
    let (reader, handle) = exchange.gateway.hub.keep_text(&text_of(answer), &exchange.caller.principal);
    let (tool, size) = (clip(tool), answer.len());
    let text = format!(
        "Tool '{tool}' has answered, with {size} bytes; results above {most} bytes (max_result) are not sent. \
         Read it in parts: {reader}('{handle}', 0)."
    );
    let result = json!({"content": blocks(&Value::from(text)), "isError": true});
    written(exchange, &result, ResultKind::Plain)
}

/// The texts of a result, or all of it as JSON if it has anything else.
fn text_of(answer: &str) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct OfTexts {
        content: Vec<TextBlock>,
    }
    #[derive(Deserialize)]
    struct TextBlock {
        text: String,
    }
    match serde_json::from_str::<OfTexts>(answer) {
        Ok(OfTexts { content }) if !content.is_empty() => {
            Cow::Owned(content.into_iter().map(|block| block.text).collect::<Vec<_>>().join("\n"))
        }
        _ => Cow::Borrowed(answer),
    }
}

/// The size of a result as text; of a large one that has no text yet, that it is large.
fn size(called: &CallResult) -> usize {
    let of_values = |values: &[Option<&Value>]| {
        let sizes = values.iter().flatten().map(|value| size_within(value, LARGE));
        sizes.sum::<Option<usize>>().unwrap_or(usize::MAX)
    };
    let answer = called.outcome.as_ref().map_or_else(|error| error.answer.as_deref(), Some);
    match answer {
        Some(ToolOutput { raw: Some(raw), .. }) => raw.get().len(),
        Some(sent) => of_values(&[Some(&sent.value), sent.content.as_ref(), sent.structured.as_ref()]),
        None => 0,
    }
}

fn written_answer(exchange: &Exchange, tool: &str, called: CallResult) -> Result<String, RpcError> {
    let provider = called.provider.as_deref();
    match called.outcome {
        Ok(ToolOutput { raw: Some(raw), .. }) => Ok(foreign_result(exchange.caller.era, &raw)),
        Ok(output) => written(exchange, &own_content(&output), ResultKind::Plain),
        // What a tool did not find is a result like any other failure.
        Err(error) if error.kind == ErrorKind::NotFound && provider.is_none() => Err(unknown_tool(tool)),
        Err(error) if error.kind == ErrorKind::Cancelled => Err(cancelled()),
        Err(error) => failed(exchange, provider, error),
    }
}

/// The answer to a request that was cancelled.
pub fn cancelled() -> RpcError {
    RpcError::new(CANCELLED, "Request cancelled")
}

/// A result as MCP has it.
fn own_content(output: &ToolOutput) -> Value {
    let mut result = Map::new();
    match &output.content {
        Some(content) => {
            result.insert("content".to_owned(), content.clone());
            result.extend(output.structured.clone().map(|value| ("structuredContent".to_owned(), value)));
        }
        None => {
            let value = output.inner();
            let (content, are_blocks) = match content_blocks(&value) {
                Some(content) => (content, true),
                None => (blocks(&value), false),
            };
            result.insert("content".to_owned(), content);
            if value.is_object() && !are_blocks {
                result.insert("structuredContent".to_owned(), value);
            }
        }
    }
    Value::Object(result)
}

/// A value as content blocks: a text as it is, nothing as nothing, anything else as JSON.
pub fn blocks(value: &Value) -> Value {
    match value {
        Value::Null => json!([]),
        Value::String(text) => json!([{"type": "text", "text": text}]),
        value => json!([{"type": "text", "text": value.to_string()}]),
    }
}

/// A value that is a content block of MCP, or a list of them: a tool that returns one means it. A text between blocks is one.
fn content_blocks(value: &Value) -> Option<Value> {
    let block = |one: &Value| match one {
        Value::String(text) => json!({"type": "text", "text": text}),
        one => one.clone(),
    };
    match value {
        Value::Object(_) if is_block(value) => Some(json!([value])),
        Value::Array(list)
            if list.iter().any(is_block) && list.iter().all(|one| one.is_string() || is_block(one)) =>
        {
            Some(list.iter().map(block).collect())
        }
        _ => None,
    }
}

/// The JSON-RPC error of a server, in its own words.
pub fn upstream_refusal(exchange: &Exchange, provider: &str, error: &HubError) -> Option<RpcError> {
    let code = error.code.filter(|_| error.kind == ErrorKind::Rpc)?;
    Some(match &error.upstream {
        Some(upstream) => {
            RpcError { data: upstream.data.clone(), ..RpcError::new(code, upstream.message.clone()) }
        }
        None => RpcError::new(code, exchange.face(provider, error).into_owned()),
    })
}

/// A server's protocol error stays one; everything else is a result that says what went wrong.
fn failed(exchange: &Exchange, provider: Option<&str>, error: HubError) -> Result<String, RpcError> {
    let provider = provider.unwrap_or_default();
    if let Some(refusal) = upstream_refusal(exchange, provider, &error) {
        return Err(refusal);
    }
    let mut result = match error.answer.as_deref() {
        Some(ToolOutput { raw: Some(raw), .. }) => return Ok(foreign_result(exchange.caller.era, raw)),
        Some(sent) => own_content(sent),
        None => own_content(&ToolOutput::new(exchange.face(provider, &error))),
    };
    result["isError"] = Value::Bool(true);
    written(exchange, &result, ResultKind::Plain)
}
