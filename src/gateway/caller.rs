//! The caller of one request.

use super::principal::Principal;
use super::view::View;
use crate::model::protocol::Era;
use serde_json::Value;
use std::sync::Arc;

/// Who makes a request, what they see, and which protocol they speak.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<Principal>,
    pub view: Arc<View>,
    pub era: Era,
    pub version: &'static str,
    /// What the client says it can do, an object.
    pub capabilities: Value,
    /// `name` and `version` of the client, as it gives them.
    pub client: Value,
    /// The session of a legacy client on HTTP, as its header names it.
    pub session: Option<Arc<str>>,
}
