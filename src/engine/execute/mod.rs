//! L3, running the chosen candidates.
//!
//! ```text
//! Run (policy: which candidate starts when, what counts, when it ends; no runtime, time is an input)
//!   │ Action                     ▲ what happened
//!   ▼                            │
//! a driver: tokio ([`Hub::run_planned`](crate::hub::Hub::run_planned)) · the caller's asyncio loop (bindings)
//! ```

mod admission;
mod drive;
mod run;

pub(crate) use drive::now;
pub use drive::{Answer, not_returned, reported};
pub use run::{Action, Decision, Fate, Rules, Run};
