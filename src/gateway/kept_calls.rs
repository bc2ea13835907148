//! How many calls are kept for clients that come back, and how much of their results: tasks, and calls that wait for an answer,
//! each for themselves.
//!
//! A call that has ended stays for its client, until one that runs needs its place, or until the results that are kept are too
//! large together.

/// The calls of all clients, and of one principal, that are kept at once.
pub const MOST_KEPT_CALLS: usize = 2_000;
pub const MOST_OF_PRINCIPAL: usize = 200;
/// Their results that are kept at once, in bytes.
pub const MOST_KEPT_BYTES: usize = 64 * 1024 * 1024;
