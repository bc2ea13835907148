//! Calls that outlive their request. Each is one [`KeptCall`], and a client comes back to it in one of two ways: by the id of a
//! task, or by the `requestState` that it got with the questions of the call.
//!
//! They are kept in memory, by the replica that runs them: for a limited time, and a limited number of them with results of a
//! limited size, of each caller and of all. When there are too many, those that ended first are dropped.

mod call;
mod questions;
mod table;

pub use call::{CallStep, FinishedCall, KeptCall, KeptEnd, TaskQuestion, TaskSignal};
pub use questions::{RequestState, RequestSubject, by_request, caller_key, random_id};
pub use table::KeptCalls;
