//! The HTTP endpoint: streamable HTTP for both eras, and HTTP+SSE for old clients.

mod admit;
mod client_socket;
mod identify;
mod inspect;
mod listener;
mod origin;
mod post;
mod reply;
mod resource_metadata;
mod serve;

pub use admit::{Admitted, ArrivingRequest, RequestPermit};
pub use client_socket::{ClientSocket, StreamExecutor, TimedBody};
pub use identify::{RequestOrigin, SESSION_HEADER, bad_request, is_modern_header, version_header};
pub use inspect::{InspectRoute, InspectorAccess};
pub use listener::serve_http;
pub use origin::{host_of, is_from_this_machine};
pub use post::post;
pub use reply::{
    Accepted, HttpReply, ReplyBody, RunningAnswer, answer_events, comment, event, expect_events, expect_json,
    not_acceptable, once,
};
pub use serve::{ConnectedClient, refuse, serve};
