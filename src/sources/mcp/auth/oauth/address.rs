//! Which addresses a server may send us to.
//!
//! Documents written by third parties name the servers of a login. To prevent requests into the own network (SSRF), only
//! hosts that the user named may be there.

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use toolhub_protocol::net::unmapped;

/// Whether the address is public: not this machine, not private, not reserved.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match unmapped(ip) {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (b == 18 || b == 19);
    let protocol = a == 192 && b == 0 && c == 0;
    !(a == 0
        || a >= 224
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || shared
        || benchmark
        || protocol)
}

/// Global unicast, without the ranges that lead into other networks (Teredo, 6to4) or nowhere (documentation).
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    a & 0xe000 == 0x2000 && a != 0x2002 && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
}

/// Looks names up and keeps only public addresses, except for the hosts that the user named: a public name may well
/// point to a private address.
pub(super) struct PublicNames {
    pub(super) trusted: Arc<[String]>,
}

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let trusted = Arc::clone(&self.trusted);
        Box::pin(async move {
            let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if trusted.contains(&host) {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let public: Vec<SocketAddr> = found.into_iter().filter(|a| is_public(a.ip())).collect();
            if public.is_empty() {
                return Err(format!("'{host}' is an address inside a private network").into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// The hosts of the proxies that the environment names. Requests through one look up the proxy, not the target.
pub(super) fn proxy_hosts() -> impl Iterator<Item = String> {
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    names.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        let url = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&url).ok()?.host_str().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_open_internet_is_public() {
        for ip in ["93.184.216.34", "2606:4700::1111", "64:ff9b::5db8:d822", "::ffff:8.8.8.8"] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:a00:1::",
            "2001:0:4136:e378::1",
            "64:ff9b:1::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_refused_unless_the_user_named_it() {
        let resolve = |trusted: &[&str]| {
            let trusted = trusted.iter().map(|host| (*host).to_owned()).collect();
            PublicNames { trusted }.resolve("localhost".parse().unwrap())
        };
        assert!(resolve(&[]).await.is_err());
        assert!(resolve(&["localhost"]).await.is_ok());
    }
}
