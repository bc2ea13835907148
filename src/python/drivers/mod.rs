//! A call on the caller's event loop: what drives its plan, and what carries out its attempts.

pub mod call;
pub mod execution;

// What both are made of: awaitables, tasks of their own, calls that servers make.
pub mod awaiting;
pub mod candidate_task;
pub mod served_call;
