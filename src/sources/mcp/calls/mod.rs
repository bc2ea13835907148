//! Calls of a tool of a server.

pub mod convert;
pub mod tasks;
pub mod tool;
