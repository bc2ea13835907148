//! What has worked: the counts, latency and health of each candidate, in memory.
//!
//! Each candidate has one [`CandidateStats`]. It allocates nothing until the first call, so 100,000 registered tools cost
//! nothing here; recording a call takes one short lock. With a [`StatsSink`] the statistics start with what is known from
//! earlier processes, and changes are collected for the store.

mod breaker;
mod candidate;
mod record;
mod sink;
mod sketch;

pub use breaker::{Breaker, BreakerPolicy, BreakerState};
pub use candidate::{AbandonedCall, CandidateStats, Health, StatsView};
pub use record::{FailureCounts, Record, RunningAverage, SavedCooldown};
pub use sink::{StatsKey, StatsSink};
pub use sketch::LatencySketch;
