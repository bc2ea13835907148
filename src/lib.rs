//! One fast, safe interface to every tool an agent can call.
//!
//! One call, from request to result ([`plan`] decides, a driver waits):
//!
//! ```text
//! request      what is asked for: a name, a capability, or a call that `parse` found in a model's text
//! route        the `source` of a model's call → a source, a server, or everywhere
//! permit       only providers that the patterns allow
//! look up      a tool that no provider has: ask the servers, once             catalog, sources
//! select       candidates in order, and a strategy                           hub, registry, select
//! approve      ask the caller, unless the tool is known to be harmless
//! share        the cache, or an identical call in flight
//! run          check arguments, pass limits, start, stop, record             execute, schema, limit, stats
//! synthesise   several answers: merge them, or ask a model                   merge, synthesize
//! result       one value or one error
//! ```
//!
//! There are two drivers: [`plan::call`] on tokio, and `CallDriver` in `bindings` on the caller's asyncio loop.
//!
//! | layer | modules | may use |
//! |---|---|---|
//! | L0 words | [`aside`], [`canonical`], [`error`], [`invisible`], [`kind`], [`model`], [`net`], [`pattern`], [`secret`], [`sse`], [`stack`], [`sync`], [`text`] | nothing of ours; [`kind`] uses [`text`], [`secret`] uses [`text`] and [`invisible`] |
//! | L1 contracts | [`tool`], [`limit`], [`workers`] | L0 |
//! | L2 stages | [`schema`], [`stats`], [`store`], [`registry`], [`identity`], [`tape`], [`parse`], [`route`], [`search`], [`select`], [`truncate`], [`merge`], [`synthesize`], [`prompt`], [`offers`] | L0, L1, and what the table in `tests/architecture.rs` says |
//! | L3 | [`execute`] | the contract, limits, statistics, candidates |
//! | L4 | [`hub`], [`plan`] | everything above |
//! | L5 the edge | [`sources`], [`llm`] | the contract, L0; [`sources`] also uses [`schema`] |
//! | L5 the edge | [`gateway`] | [`hub`], [`plan`] and what they use; never [`sources`] |
//! | L5 the edge | [`catalog`], `bindings` | everything above |
//!
//! The modules in the order of the flow:
//!
//! | module | what it does |
//! |---|---|
//! | `bindings` | Python's door: entry points, asyncio drivers, results |
//! | [`gateway`] | the hub as one MCP server |
//! | [`offers`] | the resources and prompts of the hub itself |
//! | [`parse`] | model text to tool calls |
//! | [`plan`] | one call from request to result |
//! | [`route`] | what the `source` of a routed call means |
//! | [`catalog`] | the MCP servers of a hub, and their tools in its registry |
//! | [`sources`] | where tools come from: Rust functions, skills in folders, MCP servers |
//! | [`hub`] | the stages in order: find, choose, run, record, merge |
//! | [`registry`] | candidates by name and by capability, in immutable snapshots |
//! | [`select`] | order, strategy, effects, shadowing |
//! | [`schema`] | checks and coerces arguments |
//! | [`limit`], [`workers`] | how much runs at once; the threads of sync functions |
//! | [`execute`] | runs the chosen candidates |
//! | [`tool`] | the contract of a tool |
//! | [`stats`], [`store`] | what has worked; what is kept across restarts |
//! | [`merge`], [`synthesize`], [`truncate`] | several answers to one; long text to short |
//! | [`canonical`], [`identity`] | equal values in one form; what makes two calls the same |
//! | [`tape`] | calls that are recorded and replayed |
//! | [`inspector`] | recorded calls as a page with a timeline |
//! | [`search`], [`prompt`], [`llm`] | tools that fit a query; tools as a model reads them; a chat client |
//! | [`model`], [`error`], [`pattern`] | plain data; kinds of errors; patterns of tool names |
//! | [`aside`], [`kind`], [`net`], [`sse`], [`invisible`], [`secret`], [`stack`], [`sync`], [`text`] | what several modules need |
//! | [`wording`] | the hub's own sentences in Chinese |
//!
//! `docs/concepts/architecture.md` says more, and in which file each rule is.

pub mod aside;
pub mod canonical;
pub mod error;
pub mod invisible;
pub mod kill_point;
pub mod kind;
pub mod model;
pub mod net;
pub mod pattern;
pub mod principal;
pub mod protocol;
pub mod secret;
pub mod sse;
pub mod stack;
pub mod sync;
pub mod telemetry;
pub mod text;
pub mod wording;

pub mod limit;
pub mod tool;
pub mod workers;

pub mod identity;
pub mod inspector;
pub mod merge;
pub mod offers;
pub mod parse;
pub mod prompt;
pub mod registry;
pub mod route;
pub mod schema;
pub mod search;
pub mod select;
pub mod shape;
pub mod stats;
pub mod store;
pub mod synthesize;
pub mod tape;
pub mod truncate;

pub mod execute;

pub mod hub;
pub mod plan;
pub mod served;

pub mod catalog;
pub mod gateway;
pub mod llm;
pub mod sources;

#[cfg(feature = "python")]
mod bindings;
