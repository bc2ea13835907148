use super::Transport;
use crate::error::*;
use crate::sources::mcp::inbox::Inbox;
use crate::tool::BoxFuture;
use std::sync::Arc;
pub struct HttpOptions {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub limit: usize,
    pub credentials: Option<Arc<dyn Credentials>>,
}
pub trait Credentials: Send + Sync {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>>;
    fn refused<'a>(
        &'a self,
        status: u16,
        challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, HubError>>;
}
pub struct StreamableHttp;
impl StreamableHttp {
    pub fn open(_o: HttpOptions, _inbox: Arc<Inbox>) -> Result<Arc<dyn Transport>, HubError> {
        Err(HubError::new(ErrorKind::Connect, "x"))
    }
}
