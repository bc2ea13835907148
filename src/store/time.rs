//! Times as the file stores them: microseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub fn micros(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

pub fn now() -> i64 {
    micros(SystemTime::now())
}

/// A number out of range becomes 1970.
pub fn moment(micros: i64) -> SystemTime {
    let since = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
