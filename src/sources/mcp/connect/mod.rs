//! From a configuration to a live connection, with its tasks.

pub mod connection;
pub(crate) mod connector;
pub mod secrets;
pub(crate) mod session;
