//! One fast, safe interface to every tool an agent can call.
//!
//! One call, from request to result:
//!
//! ```text
//! model text ─► parse ─► plan: route ► permit ► look up ► select ► recall ► approve ► share ► run ► synthesise ─► result
//!                                                   ▲                                          ▲
//!                                               registry        sources: Python functions · skills · MCP servers
//! ```
//!
//! Each room is a crate; its manifest says which rooms it may use. From the bottom:
//!
//! | room | what it does |
//! |---|---|
//! | `text` | strings only: words, near names, patterns, canonical form, secrets, sentences in Chinese |
//! | `types` | contracts and plain data: tool, call, error, limits, principal |
//! | `protocol` | what client and server of MCP share |
//! | `parse` | model text to proposed calls |
//! | `registry` | which tools there are, which comes first, whether the arguments fit, what makes two calls the same |
//! | `context` | what a model sees: search, prompts, results that fit |
//! | `store` | store, ledger, approvals, cassettes |
//! | `engine` | one call from request to result: the plan, the run, the hub that joins them |
//! | `sources` | where tools come from: MCP servers, logins, skills; a chat client |
//! | `gateway` | the hub as an MCP server |
//! | `python` | the bindings; the only room that knows Python |
//!
//! This crate is the face of the core: it re-exports the rooms below `python` under short names. `docs/concepts/architecture.md`
//! says more, and in which file each rule is.

pub use toolhub_context::{merge, model_output, prompt, search, synthesize, truncate};
pub use toolhub_engine::{execute, hub, offers, plan, served};
pub use toolhub_gateway as gateway;
pub use toolhub_gateway::inspector;
pub use toolhub_parse as parse;
pub use toolhub_protocol as protocol;
pub use toolhub_protocol::{net, sse};
pub use toolhub_registry as registry;
pub use toolhub_registry::{identity, route, schema, select};
pub use toolhub_sources as sources;
pub use toolhub_sources::{catalog, llm};
pub use toolhub_store as store;
pub use toolhub_store::cassette;
pub use toolhub_text as text;
pub use toolhub_text::{canonical, invisible, message, pattern, secret, wording};
pub use toolhub_types::{
    Named, blocking, error, inline_task, kind, limit, mailbox, model, notices, principal, stats, sync,
    system, telemetry, tool, wait_cancel, workers,
};
