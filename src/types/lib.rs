//! Contracts and plain data: a tool, a call, an error, limits, who calls.

pub mod blocking;
pub mod error;
pub mod inline_task;
pub mod kind;
pub mod limit;
pub mod mailbox;
pub mod model;
mod named;
pub mod notices;
pub mod principal;
pub mod stats;
pub mod sync;
pub mod system;
pub mod telemetry;
pub mod tool;
pub mod wait_cancel;
pub mod workers;

pub use named::Named;
