//! Fetches one small document from an address that the user configured.

use super::{build, builder, is_loopback, reason};
use reqwest::Url;
use std::time::Duration;

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
