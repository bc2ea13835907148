//! The time as tokens and statements have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
