//! One fast, safe interface to every tool an agent can call.
//!
//! ```text
//! model text ─► parse ─► plan: route ─► permit ─► look up ─► select ─► share ─► execute ─► merge / synthesize ─► result
//!                                │                   │          ▲                  ▲
//!                              labels             servers    registry          sources: Python functions · skills · MCP
//! ```
//!
//! | layer | rooms | may use |
//! |---|---|---|
//! | L0 words | [`error`], [`http`], [`invisible`], [`model`], [`near`], [`pattern`], [`secret`], [`sse`], [`text`] | nothing of ours |
//! | L1 contracts | [`tool`], [`limit`] | L0 |
//! | L2 stages | [`schema`], [`stats`], [`store`], [`parse`], [`route`], [`registry`], [`search`], [`select`], [`truncate`], [`merge`], [`synthesize`], [`prompt`] | L0, L1, and what the table in `tests/architecture.rs` says |
//! | L3 | [`execute`] | the contract, limits, candidates |
//! | L4 | [`hub`], [`plan`] | the stages in order; one call from request to result |
//! | L5 | [`sources`], [`catalog`], [`llm`], `bindings` | the edge: all is put together here |

pub mod error;
pub mod http;
pub mod invisible;
pub mod model;
pub mod near;
pub mod pattern;
pub mod secret;
pub mod sse;
pub mod text;

pub mod limit;
pub mod tool;

pub mod merge;
pub mod parse;
pub mod prompt;
pub mod registry;
pub mod route;
pub mod schema;
pub mod search;
pub mod select;
pub mod stats;
pub mod store;
pub mod synthesize;
pub mod truncate;

pub mod execute;

pub mod hub;
pub mod plan;

pub mod catalog;
pub mod llm;
pub mod sources;

#[cfg(feature = "python")]
mod bindings;
