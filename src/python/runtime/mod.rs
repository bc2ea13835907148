//! What every call runs on: the process and its one runtime, the event loops, the threads of sync functions.

pub mod interpreter;
pub mod process;

// An event loop, what wakes it, and who gets its mail.
pub mod block_on;
pub mod loop_bridge;

// What code inside a call knows of the calls around it.
pub mod call_scope;

// Functions on threads, threads that wait, futures of Rust, and loops that serve.
pub mod bridge;
pub mod pool;
pub mod tool_loops;

pub use process::*;
