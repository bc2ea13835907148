//! L5, the hub as one MCP server, for clients of both eras.
//!
//! ```text
//! http, stdio      where clients connect (hyper, ASGI through the bindings, pipes)
//!   ─► rpc         one JSON-RPC message, read to the letter
//!   ─► identity    who calls, and what they see
//!   ─► session     legacy: a signed session id;  era: `initialize`, or version and capabilities in every request
//!   ─► methods     tools, resources, prompts, completion, …
//!        tools/call ─► plan::call ─► the tool
//!   ─► kept        calls that outlive their request: tasks, and those that wait for answers of their client
//! ◄─ answer        in the form of the client's era
//! ```
//!
//! The room knows neither MCP servers nor Python: what it needs from them comes through [`Upstreams`]. What a replica
//! keeps about its clients is in tables of [`state`], all of them bounded; a session is in none of them.
//!
//! | module | holds |
//! |---|---|
//! | [`state`] | what all requests share, and what the operator decides |
//! | [`exchange`] | one request on its way to its answer, or several at once |
//! | [`identity`] | credentials, signed tokens, callers and their capabilities, the inspector's key |
//! | [`session`] | signed session ids, so that any replica serves any request; log levels, subscriptions, streams |
//! | [`kept`] | tasks, waiting calls, questions to clients |
//! | [`rpc`] | JSON-RPC: reading, parameters, errors, writing; messages beside the answer |
//! | [`era`] | the two eras: negotiation, the form of results |
//! | [`methods`] | the methods of the protocol; search mode |
//! | [`http`], [`stdio`] | the endpoints |
//! | [`operate`] | limits, health, metrics, the audit log, draining |
//! | [`inspector`] | the page that shows calls |

pub mod inspector;
pub mod rpc;

mod era;
mod exchange;
mod http;
mod identity;
mod kept;
mod methods;
mod operate;
mod session;
mod state;
mod stdio;

pub use crate::http::{ArrivingRequest, HttpReply, ReplyBody, serve_http};
use exchange::Exchange;
pub use identity::{
    AuthenticationOptions, Authenticator, JwtAlgorithm, JwtOptions, PrincipalFunction, StaticToken,
};
pub use methods::search_mode;
pub use operate::{AuditLog, GatewayLimits};
pub use session::SessionKeys;
pub use state::{Gateway, GatewayOptions, serve_until_drained};
pub use stdio::{serve_process_stdio, serve_stdio};
pub use toolhub_engine::served::{
    EffectsAllowed, SearchMode, SubscribedResource, Upstreams, View, Views, core_names,
};
pub use toolhub_types::principal::{Principal, UpstreamTokens};
