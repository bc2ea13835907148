//! URLs as errors and logs may show them.

use reqwest::Url;
use toolhub_text::secret::shown_path;

/// A URL as it may be shown: without user, password, query, fragment and keys in its path.
pub(crate) fn shown_url(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) if url.has_host() => {
            format!("{}{}", url.origin().ascii_serialization(), shown_path(url.path()))
        }
        _ => "(not a URL)".to_owned(),
    }
}
