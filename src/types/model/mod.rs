//! L0, the words: plain data, no I/O.

mod call;
mod effects;
mod offer;
mod tool;

pub use call::{
    Arguments, CallOptions, Freshness, KeyDigests, Meaning, NothingMeans, Part, Prefer, ReportedFailure,
    ReturnedValue, Shadow, Source, Strategy, ToolOutput, left_after, meaning, own_result, size_within,
};
pub use effects::{Effects, Evidence, Safety, Trust};
pub use offer::{ChangedOffer, OfferChange, OfferKind};
pub use tool::{BoundValue, CheckOptions, Fitting, Offload, ToolIdentity, ToolSpec, Unchecked, tags};
pub use toolhub_text::message::Lang;

use std::time::Duration;

/// Effectively never, and safe to add to any instant.
pub const FOREVER: Duration = Duration::from_secs(1_000_000_000);
