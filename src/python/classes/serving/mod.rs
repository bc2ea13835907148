//! The hub as a server.

pub mod gateway;
pub mod gateway_options;
