//! Where clients connect: HTTP and stdio.

mod accept;
pub mod http;
mod identify;
mod lines;
mod listener;
mod modern_headers;
mod origin;
mod post;
mod reply;
mod sse_stream;
mod stdio;

pub use listener::serve_http;
pub use reply::{HttpReply, ReplyBody};
pub use stdio::{serve_process_stdio, serve_stdio};

use super::exchange::Exchange;
use super::methods::dispatch;
use super::rpc::{INVALID_REQUEST, RpcError, RpcId, RpcRequest, error_message, object, result_message};
use super::state::Gateway;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The answer to a request: the message, and the code if it is an error.
pub struct AnsweredRequest {
    pub message: String,
    pub error: Option<i64>,
}

/// Runs a request to its end.
pub async fn answer(gateway: &Arc<Gateway>, request: &RpcRequest, exchange: &Exchange) -> AnsweredRequest {
    match dispatch(gateway, request, exchange).await {
        Ok(result) => AnsweredRequest { message: result_message(&request.id, &result), error: None },
        Err(error) => {
            AnsweredRequest { message: error_message(Some(&request.id), &error), error: Some(error.code) }
        }
    }
}

/// The key of the request that `notifications/cancelled` names.
pub fn cancelled_request(params: Option<&RawValue>) -> Option<String> {
    object(params).ok()?.get("requestId").filter(|id| id.is_string() || id.is_number()).map(Value::to_string)
}

pub fn in_use(id: &RpcId) -> RpcError {
    let id = crate::error::clip(id.as_json()).into_owned();
    RpcError::new(
        INVALID_REQUEST,
        format!("Invalid Request: the id {id} belongs to a request that is running"),
    )
}
