//! L0, the network: rules that every client of ours shares.

mod backoff;
mod client;
mod fetch;
mod loopback;
mod percent;
mod retry_after;

pub use backoff::Backoff;
pub use client::{USER_AGENT, build, builder, reason, sources};
pub use fetch::fetch;
pub use loopback::{is_loopback, literal, needs_no_proxy, unmapped};
pub use percent::percent_decoded;
pub use retry_after::retry_after;
