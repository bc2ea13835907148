//! L3, running the chosen candidates: the only place that orchestrates.
//!
//! [`run`] is the policy (who starts when, what counts, when it ends) without any runtime; [`drive`] drives it on tokio
//! for callers in Rust. The Python binding drives the same policy on the caller's own event loop.

mod drive;
mod run;

pub use drive::{Answer, Job, drive, overloaded};
pub use run::{Decision, Fate, Rules, Run};
