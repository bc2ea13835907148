//! Calls of a tool of a server.

pub(crate) mod convert;
pub(crate) mod tasks;
pub mod tool;
