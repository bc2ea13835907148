//! Fetches one small document from an address that the user configured.

use super::{builder, is_loopback, sources, without_certificates};
use reqwest::Url;
use std::time::Duration;

/// The body of a 200 answer of at most `most` bytes. https, or http to this machine; no redirects. The error is the rest of
/// a sentence.
pub async fn fetch(address: &str, most: usize, timeout: Duration) -> Result<Vec<u8>, String> {
    let url = Url::parse(address).map_err(|_| "it is not a URL".to_owned())?;
    let near = is_loopback(&url);
    if url.scheme() != "https" && !(near && url.scheme() == "http") {
        return Err("it needs https (http is only for this machine)".to_owned());
    }
    let builder = builder().timeout(timeout);
    let builder = match near && url.scheme() == "http" {
        true => without_certificates(builder.no_proxy()).map_err(|error| error.to_string())?,
        false => builder,
    };
    // The innermost error says what happened; the outer ones may name the URL with its query.
    let failed = |error: reqwest::Error| {
        sources(&error).last().map_or_else(|| "the request failed".to_owned(), ToString::to_string)
    };
    let client = builder.build().map_err(failed)?;
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
