//! L3, running the chosen candidates.
//!
//! ```text
//! Run (policy: which candidate starts when, what counts, when it ends; no runtime, time is an input)
//!   │ Action                     ▲ what happened
//!   ▼                            │
//! a driver: tokio ([`fn@drive`]) · the caller's asyncio loop (bindings)
//! ```

mod drive;
mod observed;
mod run;

pub use drive::{Answer, BeforeSend, Job, drive, overloaded, refused_by_pool, reported, worker_lost};
pub use observed::JobTape;
pub use run::{Action, Decision, Fate, Rules, Run};
