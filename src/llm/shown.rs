//! URLs as errors and logs may show them.

use crate::secret::shown_path;
use reqwest::Url;

/// A URL as it may be shown: without user, password, query, fragment and keys in its path.
pub(crate) fn shown_url(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) if url.has_host() => {
            format!("{}{}", url.origin().ascii_serialization(), shown_path(url.path()))
        }
        _ => "(not a URL)".to_owned(),
    }
}
