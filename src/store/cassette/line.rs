//! The lines that a recorder writes, and their times. Their fields are described in `docs/reference/events.md`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use toolhub_types::error::Result;
use toolhub_types::model::ToolOutput;

/// The version of the format.
pub const VERSION: u64 = 2;
/// In the first line of every cassette.
pub const FORMAT: &str = "toolhub-events";

toolhub_types::named! {
    /// What was called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LineKind {
        /// A tool.
        Call = "call",
        /// A model.
        Model = "model",
    }
}

/// A recorded call, as the calls that its tool makes know it.
#[derive(Clone)]
pub struct OuterCall {
    /// The number of the recording in this process.
    pub(super) recording: u64,
    pub(super) began: u64,
}

/// What came of a call; `None` if it was given up: another candidate had won, or its caller had gone.
pub type RecordedAnswer = Option<Result<ToolOutput>>;

pub(super) fn outcome_of(answer: &RecordedAnswer) -> &'static str {
    match answer {
        Some(Ok(_)) => "ok",
        Some(Err(error)) => error.kind.name(),
        None => "stopped",
    }
}

/// RFC 3339 in UTC with milliseconds.
pub fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    // The civil date of a number of days (Howard Hinnant's algorithm), for dates after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Reads what [`timestamp`] writes, as milliseconds since 1970.
pub fn read_timestamp(text: &str) -> Option<f64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (parts.next()?.parse::<i64>().ok()?, parts.next()?.parse::<i64>().ok()?);
    let second = parts.next()?.parse::<f64>().ok()?;
    let is_sound = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..61.0).contains(&second);
    if !is_sound {
        return None;
    }
    // The number of days of a civil date, the inverse of the above.
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some(((days * 86_400 + hour * 3600 + minute * 60) as f64 + second) * 1e3)
}

/// Milliseconds with three digits after the point.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod clock_tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_that_was_written_is_read(millisecond in 0u64..250_000_000_000_000) {
            let time = UNIX_EPOCH + Duration::from_millis(millisecond);
            let read = read_timestamp(&timestamp(time)).unwrap();
            prop_assert!((read - millisecond as f64).abs() < 0.5, "{read} {millisecond}");
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9TZ:. ]{0,30}|.{0,30}") {
            let _ = read_timestamp(&text);
        }
    }
}
