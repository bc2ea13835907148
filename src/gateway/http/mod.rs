//! The HTTP endpoint: streamable HTTP for both eras, and HTTP+SSE for old clients.

mod accept;
mod admit;
mod body;
mod client_socket;
mod identify;
mod inspect;
mod legacy_sse;
mod listener;
mod modern_headers;
mod origin;
mod post;
mod reply;
mod resource_metadata;
mod serve;
mod sse_stream;
mod stream_timeout;

pub use accept::{Accepted, expect_events, expect_json, not_acceptable, once};
pub use admit::{Admitted, RequestPermit, admit};
pub use body::ArrivingRequest;
pub use client_socket::ClientSocket;
pub use identify::{RequestOrigin, SESSION_HEADER, bad_request, is_modern_header, version_header};
pub use inspect::InspectRoute;
pub use legacy_sse::ConnectedClient;
pub use listener::serve_http;
pub use origin::{host_of, is_from_this_machine};
pub use post::post;
pub use reply::{EVENTS, HttpReply, JSON, ReplyBody};
pub use serve::{refuse, serve};
pub use sse_stream::{AnswerStream, RunningAnswer, comment, event};
pub use stream_timeout::{StreamExecutor, TimedBody};
