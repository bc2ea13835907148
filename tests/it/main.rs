//! All tests of the core through its public interface, in one program: linking is what a test program costs.

mod execute;
mod fuzz;
mod gateway;
mod hub;
mod llm;
mod mcp_auth;
mod mcp_client;
mod mcp_config;
mod mcp_http;
mod parse;
mod plan;
mod registry;
mod schema;
mod select;
mod store;
mod support;
mod truncate;
