//! Contracts and plain data: a tool, a call, an error, limits, who calls.

pub mod aside;
pub mod error;
pub mod kill_point;
pub mod kind;
pub mod limit;
pub mod model;
pub mod principal;
pub mod stack;
pub mod stats;
pub mod sync;
pub mod telemetry;
pub mod tool;
pub mod workers;
