//! What a handshake settles, and what the next one starts from.

pub use toolhub_protocol::{APPS_EXTENSION, APPS_MEDIA_TYPE, Era, LEGACY, MODERN, TASKS_EXTENSION, version};

/// The result of a handshake. The version is `None` when a later toolhub negotiated one that this one does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiatedProtocol {
    pub era: Era,
    pub version: Option<&'static str>,
}

/// What an earlier connection showed about a server. The next handshake starts from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolHint {
    Modern,
    Legacy,
    /// The oldest transport, HTTP+SSE.
    HttpSse,
}

impl From<Era> for ProtocolHint {
    fn from(era: Era) -> Self {
        match era {
            Era::Modern => ProtocolHint::Modern,
            Era::Legacy => ProtocolHint::Legacy,
        }
    }
}
