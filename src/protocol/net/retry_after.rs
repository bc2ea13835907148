//! `Retry-After`: how long a server asks to wait.

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// Seconds, or an HTTP date. A date is meant on the server's clock, so it is compared with the server's own `Date` if there
/// is one. A value that a clock cannot hold counts as absent.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let asked = text(RETRY_AFTER)?;
    match asked.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let now = text(DATE).and_then(date).unwrap_or_else(SystemTime::now);
            Some(date(asked)?.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn read(lines: &[(&'static str, &'static str)]) -> Option<f64> {
        let pairs = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        retry_after(&pairs.collect()).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn it_is_seconds_or_a_date_on_the_servers_clock() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (value, expected) in [
            ("7", Some(7.0)),
            (" 0.5 ", Some(0.5)),
            ("Sun, 06 Nov 1994 08:59:37 GMT", Some(600.0)),
            ("Sunday, 06-Nov-94 08:49:47 GMT", Some(10.0)),
            ("Sun Nov  6 08:49:47 1994", Some(10.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
            ("-1", None),
            ("1e300", None),
            ("inf", None),
            ("NaN", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(read(&[date, ("retry-after", value)]), expected, "{value:?}");
        }
        assert_eq!(read(&[date]), None);
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:59:37 GMT")]), Some(0.0));
    }
}
