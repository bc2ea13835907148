//! The client as tools of a hub, so that whoever can run a tool (with deadlines, cancellation, any event loop) can ask a model.
//!
//! | tool | arguments | answer |
//! |---|---|---|
//! | `chat` | `messages` | `{text, finish_reason, usage, model, raw}` |
//! | `open` | `messages` | the number of a new stream |
//! | `next` | `stream` | `{text}`, or `{end: {…}}` with the whole answer after the last delta |
//! | `close` | `stream` | whether it was open |

use super::{ChatAnswer, ChatStream, LlmError, LlmErrorKind, Message, OpenAi};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::model::{Arguments, ToolOutput, ToolSpec};
use crate::tool::{BoxFuture, CallContext, Tool};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Mutex;

type Stream = Arc<Mutex<ChatStream>>;

/// What the tools of one client share.
struct Desk {
    client: OpenAi,
    streams: parking_lot::Mutex<HashMap<u64, Stream>>,
    next_stream: AtomicU64,
}

#[derive(Clone, Copy)]
enum Service {
    Chat,
    Open,
    Next,
    Close,
}

struct ChatTool {
    spec: ToolSpec,
    service: Service,
    desk: Arc<Desk>,
}

/// The four tools of a client.
pub fn tools(client: OpenAi) -> Vec<Arc<dyn Tool>> {
    let desk =
        Arc::new(Desk { client, streams: parking_lot::Mutex::default(), next_stream: AtomicU64::new(1) });
    let services = [
        ("chat", Service::Chat),
        ("open", Service::Open),
        ("next", Service::Next),
        ("close", Service::Close),
    ];
    services
        .into_iter()
        .map(|(name, service)| -> Arc<dyn Tool> {
            Arc::new(ChatTool { spec: ToolSpec::named(name), service, desk: desk.clone() })
        })
        .collect()
}

impl Tool for ChatTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, _: bool) -> Result<Option<Arguments>, HubError> {
        match self.service {
            Service::Chat | Service::Open => messages(args).map(|_| None),
            Service::Next | Service::Close => stream_number(args).map(|_| None),
        }
    }

    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        Box::pin(async move {
            match self.service {
                Service::Chat => {
                    let answer =
                        self.desk.client.chat(&messages(args)?, &ctx.cancel).await.map_err(failed)?;
                    Ok(ToolOutput::new(as_value(&answer)))
                }
                Service::Open => self.open(args).await,
                Service::Next => self.next(args, ctx).await,
                Service::Close => {
                    let gone = self.desk.streams.lock().remove(&stream_number(args)?);
                    Ok(ToolOutput::new(gone.is_some()))
                }
            }
        })
    }
}

impl ChatTool {
    async fn open(&self, args: &Arguments) -> Result<ToolOutput, HubError> {
        // The stream outlives this call; it ends with its own timeout, or when it is closed.
        let unending = tokio_util::sync::CancellationToken::new();
        let stream = self.desk.client.stream(&messages(args)?, &unending).await.map_err(failed)?;
        let number = self.desk.next_stream.fetch_add(1, Ordering::Relaxed);
        self.desk.streams.lock().insert(number, Arc::new(Mutex::new(stream)));
        Ok(ToolOutput::new(number))
    }

    async fn next(&self, args: &Arguments, ctx: &CallContext) -> Result<ToolOutput, HubError> {
        let number = stream_number(args)?;
        let stream = self.desk.streams.lock().get(&number).cloned();
        let Some(stream) = stream else {
            return Err(
                HubError::new(ErrorKind::Closed, "This stream is closed.").with_outcome(Outcome::NotSent)
            );
        };
        let mut open = stream.lock().await;
        let delta = tokio::select! {
            delta = open.next() => delta,
            () = ctx.cancel.cancelled() => return Err(HubError::new(ErrorKind::Cancelled, "Cancelled.")),
        };
        match delta {
            Some(Ok(delta)) => Ok(ToolOutput::new(json!({"text": delta.text}))),
            Some(Err(error)) => {
                self.desk.streams.lock().remove(&number);
                Err(failed(error))
            }
            None => {
                self.desk.streams.lock().remove(&number);
                drop(open);
                let end = match Arc::into_inner(stream) {
                    Some(stream) => {
                        stream.into_inner().finish().await.map_err(failed).map(|answer| as_value(&answer))?
                    }
                    None => Value::Null,
                };
                Ok(ToolOutput::new(json!({"end": end})))
            }
        }
    }
}

fn as_value(answer: &ChatAnswer) -> Value {
    let usage = answer.usage.as_ref().map(|usage| {
        json!({"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
               "total_tokens": usage.total_tokens})
    });
    json!({"text": answer.text, "finish_reason": answer.finish_reason, "usage": usage,
           "model": answer.model, "raw": answer.raw})
}

fn messages(args: &Arguments) -> Result<Vec<Message>, HubError> {
    let wrong = || {
        HubError::new(
            ErrorKind::InvalidArguments,
            "messages must be a list of chat messages with a role and a content, such as {\"role\": \"user\", \"content\": \"Hello\"}.",
        )
    };
    let list =
        args.get("messages").and_then(Value::as_array).filter(|list| !list.is_empty()).ok_or_else(wrong)?;
    list.iter().map(|message| Message::try_from(message.clone()).map_err(failed)).collect()
}

fn stream_number(args: &Arguments) -> Result<u64, HubError> {
    let number = args.get("stream").and_then(Value::as_u64);
    number.ok_or_else(|| HubError::new(ErrorKind::InvalidArguments, "stream must be the number of a stream."))
}

/// A failure of the endpoint in the words of the hub.
fn failed(error: LlmError) -> HubError {
    let kind = match error.kind {
        LlmErrorKind::Auth => ErrorKind::Auth,
        LlmErrorKind::NotFound | LlmErrorKind::Server(_) | LlmErrorKind::Http(_) => ErrorKind::Http,
        LlmErrorKind::RateLimited => ErrorKind::Overloaded,
        LlmErrorKind::Connect => ErrorKind::Connect,
        LlmErrorKind::Closed | LlmErrorKind::TruncatedStream => ErrorKind::Closed,
        LlmErrorKind::Timeout => ErrorKind::Timeout,
        LlmErrorKind::InvalidResponse => ErrorKind::Protocol,
        LlmErrorKind::Limit => ErrorKind::Limit,
        LlmErrorKind::Cancelled => ErrorKind::Cancelled,
        LlmErrorKind::Config => ErrorKind::InvalidArguments,
    };
    HubError {
        status: error.status,
        retry_after: error.retry_after.map(|wait| wait.as_secs_f64()),
        ..HubError::new(kind, error.message)
    }
}
