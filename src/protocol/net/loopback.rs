//! This machine: which URLs stay on it.

use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr};

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

#[cfg(test)]
mod tests {
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
