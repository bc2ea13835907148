//! The caller of one request.

use serde_json::Value;
use std::sync::Arc;
use toolhub_engine::served::View;
use toolhub_protocol::Era;
use toolhub_types::principal::Principal;

/// Who makes a request, what they see, and which protocol they speak.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<Principal>,
    pub view: Arc<View>,
    pub era: Era,
    pub version: &'static str,
    /// What the client says it can do, an object.
    pub capabilities: Arc<Value>,
    /// `name` and `version` of the client, as it gives them.
    pub client: Arc<Value>,
    /// The session of a legacy client on HTTP, as its header names it, or a name for the pipe of a client on stdio.
    pub session: Option<Arc<str>>,
    /// Everything for this client goes through one stream, as on stdio: a message that its reader refuses ends all of it.
    pub has_one_stream: bool,
}

impl Caller {
    /// The client whose answers to questions count: the principal, and its session if it has one.
    pub fn client_key(&self) -> Arc<str> {
        Arc::from(format!("{}\n{}", self.principal.id, self.session.as_deref().unwrap_or_default()))
    }
}
