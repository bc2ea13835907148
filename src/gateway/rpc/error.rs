//! The errors of JSON-RPC.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use toolhub_types::error::{OUTCOME_KEY, Outcome};

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub use toolhub_protocol::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, TRY_LATER};

/// An error object of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    pub code: i64,
    pub message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// The error of a call that may have run, for a hub in front of this one.
    pub fn in_doubt(self) -> Self {
        RpcError { data: Some(Self::with_doubt(self.data)), ..self }
    }

    /// What a failure says beside its text, and that the call may have run.
    pub fn with_doubt(said: Option<Value>) -> Value {
        let mut members = match said {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(members)) => members,
            Some(other) => Map::from_iter([("data".to_owned(), other)]),
        };
        members.insert(OUTCOME_KEY.to_owned(), json!(Outcome::Unknown));
        Value::Object(members)
    }

    pub fn with_data(self, data: Value) -> Self {
        RpcError { data: Some(data), ..self }
    }

    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        RpcError::new(INVALID_PARAMS, message)
    }

    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        RpcError::new(INVALID_REQUEST, message)
    }

    pub fn no_such_method(method: &str) -> Self {
        RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {}", toolhub_types::error::clip(method)))
    }
}
