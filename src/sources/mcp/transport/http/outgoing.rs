//! The body of a request, which knows the moment at which it leaves.
//!
//! The HTTP library asks for the body when it has a connection and has encoded the head of the request, before it writes
//! either. While it resolves a name, connects, agrees on TLS or waits for a connection of the pool, nothing has left.

use super::unbroken::OpenConnections;
use crate::mcp::transport::SendStage;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[derive(Clone)]
pub(crate) struct OutgoingBody {
    bytes: Bytes,
    /// `None`: nobody asks whether it left.
    stage: Option<Arc<SendStage>>,
    /// It leaves only while this is how often the way to the server was interrupted.
    breaks: Option<(OpenConnections, u64)>,
}

impl OutgoingBody {
    pub(crate) fn of_request(text: &str, stage: &Arc<SendStage>) -> Self {
        OutgoingBody {
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            stage: Some(stage.clone()),
            breaks: None,
        }
    }

    /// The same, for the program only that answered when the way had been interrupted so often.
    pub(super) fn unless_interrupted(self, connections: &OpenConnections, breaks: Option<u64>) -> Self {
        OutgoingBody { breaks: breaks.map(|breaks| (connections.clone(), breaks)), ..self }
    }

    /// A message that expects no answer.
    pub(crate) fn of_message(text: String) -> Self {
        OutgoingBody { bytes: text.into(), stage: None, breaks: None }
    }

    pub(crate) fn empty() -> Self {
        OutgoingBody { bytes: Bytes::new(), stage: None, breaks: None }
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        // The head of a request that was withdrawn is dropped with its connection.
        let is_unbroken =
            self.breaks.as_ref().is_none_or(|(connections, breaks)| connections.breaks() == *breaks);
        let may_leave = is_unbroken && self.stage.as_ref().is_none_or(|stage| stage.leave());
        let withdrawn = || io::Error::from(io::ErrorKind::ConnectionAborted);
        Poll::Ready(Some(if may_leave { Ok(Frame::data(bytes)) } else { Err(withdrawn()) }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
