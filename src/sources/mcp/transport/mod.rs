//! How messages get to a server and back: four ways behind one contract.
//!
//! A transport moves messages and knows what its way can do (a process that dies, an HTTP session that is forgotten). What
//! the messages mean is the business of [`super::connection`]; what arrives without being the answer to a request goes to
//! the [`Inbox`](super::inbox::Inbox) that the transport was opened with.

pub mod http;
pub mod in_process;
pub mod stdio;

use super::protocol::Era;
use serde_json::value::RawValue;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::telemetry::SpanAttributes;
use toolhub_types::tool::{Begin, BoxFuture, SentFlag};

/// A request on its way.
pub struct OutgoingRequest {
    pub id: u64,
    pub method: &'static str,
    /// What `Mcp-Name` says in the modern era: the tool, the resource.
    pub name: Option<Arc<str>>,
    /// `Mcp-Param-*` headers of the modern era: what the tool's schema wants to see outside of the body.
    pub headers: Vec<(String, String)>,
    /// The `traceparent` of the request, if it has a span. Over HTTP it is a header too.
    pub trace: Option<String>,
    /// The whole message as JSON, on one line.
    pub body: String,
    pub stage: Arc<SendStage>,
    /// Leaves only if [`Transport::breaks`] still says this, where that can be told.
    pub breaks: Option<u64>,
}

/// How far a message is. The writer and the caller that gives up race; the first one decides. A message of an attempt also
/// leaves only as long as the attempt goes on, and marks it as sent.
#[derive(Default)]
pub struct SendStage {
    stage: AtomicU8,
    attempt: Option<Arc<SentFlag>>,
}

const QUEUED: u8 = 0;
const LEFT: u8 = 1;
/// It left, and was the first of its attempt.
const LEFT_FIRST: u8 = 2;
/// It left more than once: it was redirected, or sent with other credentials.
const LEFT_AGAIN: u8 = 3;
const WITHDRAWN: u8 = 4;

impl SendStage {
    pub fn of_attempt(attempt: Option<Arc<SentFlag>>) -> Self {
        SendStage { attempt, ..SendStage::default() }
    }

    /// To be asked immediately before it is written, also when it is written once more; false when it was withdrawn.
    pub fn leave(&self) -> bool {
        let is_new = match self.stage.compare_exchange(QUEUED, LEFT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(WITHDRAWN) => return false,
            Err(_) => false,
        };
        match self.attempt.as_ref().map_or(Begin::Again, |attempt| attempt.begin()) {
            Begin::First => self.stage.store(LEFT_FIRST, Ordering::Release),
            Begin::Again if is_new => {}
            Begin::Again => self.stage.store(LEFT_AGAIN, Ordering::Release),
            Begin::Refused => {
                if is_new {
                    self.stage.store(WITHDRAWN, Ordering::Release);
                }
                return false;
            }
        }
        true
    }

    pub fn withdraw(&self) {
        let _ = self.stage.compare_exchange(QUEUED, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
    }

    /// It was about to be written, and nothing of it was; it may be written later.
    pub fn take_back(&self) {
        if self.stage.swap(QUEUED, Ordering::AcqRel) == LEFT_FIRST
            && let Some(attempt) = &self.attempt
        {
            attempt.reopen();
        }
    }

    pub fn may_have_left(&self) -> bool {
        matches!(self.stage.load(Ordering::Acquire), LEFT | LEFT_FIRST | LEFT_AGAIN)
    }

    pub fn has_left_once(&self) -> bool {
        matches!(self.stage.load(Ordering::Acquire), LEFT | LEFT_FIRST)
    }
}

pub trait Transport: Send + Sync {
    /// Sends a request and waits for its answer: the raw `result`, or the error that the server or the way there gave. The
    /// outcome of an error says whether the request may have left. Dropping the future gives up on the request.
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>>>;

    /// Sends a message that expects no answer: a notification, or an answer to a server's request.
    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<()>>;

    /// The handshake is over; from now on speak in this version.
    fn on_negotiated(&self, _era: Era, _version: &'static str) {}

    /// Whether giving up on a request already tells the server. Otherwise a cancellation has to be sent.
    fn cancels_by_drop(&self) -> bool {
        false
    }

    /// Why no further request can be sent, when that is so. Requests in flight may still be answered.
    fn retired(&self) -> Option<HubError>;

    /// How often the way to the server was interrupted though the connection goes on: another program may answer since then.
    fn breaks(&self) -> u64 {
        0
    }

    /// The server's process, when it is a child of ours.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Whether the server has not read yet what it was sent. False where the way there does not tell.
    fn has_unread(&self) -> bool {
        false
    }

    /// Where the other side is, for telemetry, as far as it is known and applies.
    fn place(&self) -> SpanAttributes {
        Vec::new()
    }

    /// Ends everything, in bounded time. Requests in flight fail.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Whether one of these events, an error or the end of the other side is there now, as the system itself says; `None` if it could
/// not be asked.
fn has_events(file: &impl AsRawFd, events: libc::c_short) -> Option<bool> {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry, which is valid for reads and writes; it does not wait.
    let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
    (found >= 0).then_some(found > 0)
}

/// The error for a message over the limit.
pub(crate) fn too_large(limit: usize) -> HubError {
    let text = message!(
        "The server's message has more than {} bytes, which is the limit; ask for less or raise `max_message_bytes`.",
        limit
    );
    HubError::new(ErrorKind::Limit, text).with_outcome(Outcome::Unknown)
}
