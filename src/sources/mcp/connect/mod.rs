//! From a configuration to a live connection, with its tasks.

pub mod connection;
pub mod connector;
pub mod secrets;
pub mod session;
