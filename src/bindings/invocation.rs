//! A Python tool called from Rust: handed to the background loop, answered through a channel.

use super::python_tool::Callable;
use crate::error::{ErrorKind, HubError};
use crate::model::{Arguments, ToolOutput};
use crate::tool::CallContext;
use std::sync::Arc;

pub async fn invoke(callable: Arc<Callable>, _args: Arguments, _ctx: CallContext) -> Result<ToolOutput, HubError> {
    Err(HubError::new(ErrorKind::Connect, format!("{}", callable.spec.name)))
}
