//! L0, the network: rules that every client of ours shares.

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Url, redirect};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

// The HTTP library, set up as every client in here needs it, and the reading of its errors.

pub const USER_AGENT: &str = concat!("toolhub/", env!("CARGO_PKG_VERSION"));

/// Redirects are refused, so that headers go to their origin only. Certificates are those that the system trusts.
pub fn builder() -> ClientBuilder {
    // An error means that a client was made before: the provider is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).redirect(redirect::Policy::none())
}

/// Makes the client, or says why it cannot be made. One for plain HTTP loads no certificates: that takes milliseconds, and fails
/// where there are none.
pub fn build(builder: ClientBuilder, is_plain: bool) -> Result<Client, String> {
    let builder = match is_plain {
        true => without_certificates(builder).map_err(|error| error.to_string())?,
        false => builder,
    };
    builder.build().map_err(|error| reason(&error))
}

fn without_certificates(builder: ClientBuilder) -> Result<ClientBuilder, rustls::Error> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let unused = rustls::ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(unused))
}

/// The innermost reason, which says what happened; the outer ones may name the URL with its query.
pub fn reason(error: &reqwest::Error) -> String {
    sources(error).last().map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// The errors below this one, from the outside in.
pub fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}

/// The body of a 200 answer of at most `most` bytes. https, or http to this machine; no redirects. The error is the rest of
/// a sentence.
pub async fn fetch(address: &str, most: usize, timeout: Duration) -> Result<Vec<u8>, String> {
    let url = Url::parse(address).map_err(|_| "it is not a URL".to_owned())?;
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
        return Err("it needs https (http is only for this machine)".to_owned());
    }
    let is_plain = url.scheme() == "http";
    let builder = builder().timeout(timeout);
    let client = build(if is_plain { builder.no_proxy() } else { builder }, is_plain)?;
    let failed = |error: reqwest::Error| reason(&error);
    let mut response = client.get(url).header("accept", "application/json").send().await.map_err(failed)?;
    if response.status() != 200 {
        return Err(format!("it answered with HTTP {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > most {
            return Err(format!("it sent more than {most} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

// This machine: which URLs stay on it.

/// The address that the URL names directly, when it is one.
pub fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// The IPv4 address that an IPv6 one stands for: mapped (`::ffff:a.b.c.d`), or translated (`64:ff9b::a.b.c.d`).
pub fn unmapped(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    if [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [h, l] = [high.to_be_bytes(), low.to_be_bytes()];
        return IpAddr::V4(Ipv4Addr::new(h[0], h[1], l[0], l[1]));
    }
    v6.to_ipv4_mapped().map_or(ip, IpAddr::V4)
}

/// This machine, by its address or by the one name that always means it. Safe to relax `https` on.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str() == Some("localhost") || literal(url).is_some_and(|ip| unmapped(ip).is_loopback())
}

/// A proxy cannot reach this machine for us. Names below `localhost` belong to it too, but the system resolves them, so
/// they prove nothing.
pub fn needs_no_proxy(url: &Url) -> bool {
    is_loopback(url) || url.host_str().is_some_and(|host| host.ends_with(".localhost"))
}

/// The text without its percent signs; what they do not encode stays.
pub fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

// How long to wait before trying again.

/// Waits that double from `first` up to `ceiling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub ceiling: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, ceiling: Duration) -> Self {
        Self { first, ceiling }
    }

    /// The wait before retry number `retry` (from 0). A server may ask for a longer wait, never for a shorter one:
    /// `Retry-After: 0` must not cause a storm.
    pub fn wait(&self, retry: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.first.saturating_mul(2u32.saturating_pow(retry));
        doubled.min(self.ceiling).max(asked.unwrap_or_default())
    }

    /// The same for clients that may have failed together: the upper half of the wait is left to `chance`, from 0 to 1,
    /// so that they do not come back together.
    pub fn spread(&self, retry: u32, chance: f64, asked: Option<Duration>) -> Duration {
        let half = self.wait(retry, None) / 2;
        // Anything outside the range counts as the longest wait; NaN would panic in the multiplication.
        let chance = if (0.0..=1.0).contains(&chance) { chance } else { 1.0 };
        (half + half.mul_f64(chance)).max(asked.unwrap_or_default())
    }
}

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
mod loopback_tests {
    use super::*;

    #[test]
    fn this_machine_has_one_name() {
        for url in [
            "http://localhost:1/",
            "http://LOCALHOST/v1",
            "http://127.0.0.1/",
            "http://127.8.0.1:8000/v1",
            "http://[::1]:8/",
            "http://0x7f.1/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            let url = Url::parse(url).unwrap();
            assert!(is_loopback(&url) && needs_no_proxy(&url), "{url}");
        }
        for url in
            ["http://localhost.example.com/", "https://127.0.0.1.example.com/", "http://10.0.0.1/", "data:x"]
        {
            let url = Url::parse(url).unwrap();
            assert!(!is_loopback(&url) && !needs_no_proxy(&url), "{url}");
        }
        let below = Url::parse("http://app.localhost/").unwrap();
        assert!(!is_loopback(&below) && needs_no_proxy(&below));
    }
}

#[cfg(test)]
mod percent_tests {
    use super::*;

    #[test]
    fn percent_encoding_is_undone() {
        assert_eq!(percent_decoded("p%40ss%C3%A9%zz%"), "p@ssé%zz%");
    }
}

#[cfg(test)]
mod backoff_tests {
    use super::*;
    use proptest::prelude::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

    #[test]
    fn waits_double_up_to_the_ceiling_and_heed_only_longer_requests() {
        let wait =
            |retry, asked: Option<u64>| BACKOFF.wait(retry, asked.map(Duration::from_millis)).as_millis();
        assert_eq!([wait(0, Some(0)), wait(1, None), wait(2, Some(2000))], [200, 400, 2000]);
        assert_eq!([wait(4, None), wait(5, None), wait(u32::MAX, None)], [3200, 5000, 5000]);
        assert_eq!(wait(0, Some(60_000)), 60_000);
    }

    proptest! {
        #[test]
        fn a_spread_wait_is_bounded_from_both_sides(
            retry in any::<u32>(), chance in prop::num::f64::ANY, asked in prop::option::of(0u64..100)
        ) {
            let asked = asked.map(Duration::from_secs);
            let (whole, spread) = (BACKOFF.wait(retry, None), BACKOFF.spread(retry, chance, asked));
            prop_assert!(spread >= whole / 2);
            prop_assert!(spread >= asked.unwrap_or_default());
            prop_assert!(spread <= whole.max(asked.unwrap_or_default()));
        }
    }
}

#[cfg(test)]
mod retry_after_tests {
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
