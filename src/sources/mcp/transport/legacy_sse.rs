use super::Transport;
use super::http::HttpOptions;
use crate::error::*;
use crate::sources::mcp::inbox::Inbox;
use std::sync::Arc;
pub struct LegacySse;
impl LegacySse {
    pub async fn open(_o: HttpOptions, _inbox: Arc<Inbox>) -> Result<Arc<dyn Transport>, HubError> {
        Err(HubError::new(ErrorKind::Connect, "x"))
    }
}
