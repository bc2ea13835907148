//! The HTTP endpoint: streamable HTTP for both eras, and HTTP+SSE for old clients.

mod accept;
mod admit;
mod arriving;
mod body;
mod client_socket;
mod cors;
pub mod identify;
mod inspect;
mod legacy_sse;
mod listener;
mod modern_headers;
mod origin;
mod post;
mod reply;
mod resource_metadata;
mod running_answer;
mod serve;
mod sse_stream;
mod stream_timeout;

pub use arriving::ArrivingRequest;
pub use legacy_sse::ConnectedClient;
pub use listener::serve_http;
pub use reply::{HttpReply, ReplyBody};
