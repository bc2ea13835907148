//! L5, the hub as one MCP server, for clients of both eras.
//!
//! ```text
//! endpoint     HTTP (hyper, or ASGI through the bindings), stdio
//!   ─► rpc         one JSON-RPC message, read to the letter
//!   ─► principal   who calls;  view: what they see
//!   ─► era         legacy (`initialize`, a signed session id) or modern (version and capabilities in every request)
//!   ─► methods     tools, resources, prompts, completion, …
//!        tools/call ─► plan::call ─► the tool
//!   ─► relay       what goes to the client beside the answer: progress, questions, list changes
//! ◄─ answer        in the form of the client's era
//! ```
//!
//! The room knows neither MCP servers nor Python: what it needs from them comes through [`Upstreams`]. What a replica
//! keeps about its clients is in tables of [`state`], all of them bounded; a session is in none of them.
//!
//! | file | holds |
//! |---|---|
//! | [`state`] | what all requests share |
//! | [`rpc`], [`params`], [`payload`] | JSON-RPC: reading, parameters, errors, writing; batches |
//! | [`upstreams`] | what the gateway needs from the sources of tools |
//! | [`authenticator`] | finds out who calls |
//! | [`jwt`], [`jwks`] | signed tokens, and the keys of their issuer |
//! | [`exchange`] | one request on its way to its answer |
//! | [`standing`] | how long a standing stream may last |
//! | [`caller`], [`view`], [`shown_tool`] | who makes a request, and what they see |
//! | [`inspector_access`] | who may look into the hub with the inspector |
//! | [`session`] | signed session ids, so that any replica serves any request |
//! | [`sealing`] | a text that callers cannot read: the state of a request that has asked |
//! | [`era`] | the two eras: negotiation, the form of results |
//! | [`methods`] | the methods of the protocol |
//! | [`relay`], [`in_flight`] | messages beside the answer; cancelling |
//! | [`list_changes`], [`client_changes`], [`subscribers`] | changes of what a caller sees, and of resources that it subscribed to |
//! | [`kept`] | calls that outlive their request: tasks, and those that wait for answers of their client |
//! | [`capability`] | what a client can be asked |
//! | [`endpoint`] | HTTP and stdio |
//! | [`log_level`] | how much of the log of calls clients see |
//! | [`by_principal`] | tables of which every caller has its part |
//! | [`search_mode`] | three tools instead of thousands |
//! | [`limits`], [`connections`], [`held_bytes`] | how much callers may ask for at once |
//! | [`operate`] | health, metrics, the audit log, draining |

pub mod inspector;

mod authenticator;
mod by_principal;
mod caller;
mod capability;
mod client_changes;
mod connections;
mod endpoint;
mod era;
mod exchange;
mod held_bytes;
mod in_flight;
mod inspector_access;
mod jwks;
mod jwt;
mod kept;
mod limits;
mod list_changes;
mod log_level;
mod methods;
mod operate;
mod options;
mod params;
mod payload;
mod relay;
mod request_trace;
pub mod rpc;
mod rpc_error;
mod sealing;
pub mod search_mode;
mod session;
mod session_streams;
mod sse_clients;
mod standing;
mod state;
mod subscribers;
mod view_indexes;

pub use authenticator::{
    AuthenticationOptions, AuthenticationRefusal, Authenticator, PrincipalFunction, RequestCredentials,
    StaticToken,
};
pub use caller::Caller;
pub use endpoint::{ArrivingRequest, HttpReply, ReplyBody, serve_http, serve_process_stdio, serve_stdio};
pub use jwks::{JwksSource, JwtAlgorithm};
pub use jwt::JwtOptions;
pub use limits::{Admission, GatewayLimits, Occupied, TooMany};
pub use operate::{
    AuditEvent, AuditLog, AuditOutcome, AuditRecord, Drain, DrainReport, Metrics, MetricsGauges, Operation,
};
pub use options::GatewayOptions;
pub use session::{
    KEY_GRACE, SESSION_LIFETIME, SHORTEST_SECRET, SessionClaims, SessionKeys, SessionRefusal, Sessions,
};
pub use state::{Gateway, connections_end};
pub use toolhub_engine::served::{
    AUTO_SEARCH_ABOVE, DEFAULT_VIEW, EffectsAllowed, NoUpstreams, SearchMode, SubscribedResource, Upstreams,
    View, Views, core_names,
};
pub use toolhub_types::principal::{Principal, UpstreamTokens};
