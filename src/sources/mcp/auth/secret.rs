//! Values that must not be shown, and the way for foreign text to get into an error message.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How much of a server's text an error message quotes.
#[cfg(feature = "oauth")]
const QUOTE_CHARS: usize = 200;

/// A string that `Debug` does not show. It is serialized as it is: that is what a token store does.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

/// Foreign text made fit for an error message: one line, nothing that steers a terminal, none of the secrets, not long.
///
/// Secrets are taken out after the control characters, which may stand inside of one, and before the text is cut.
#[cfg(feature = "oauth")]
pub(super) fn quote(text: &str, secrets: &[&str]) -> String {
    let plain: String = text.chars().map(|c| if is_unprintable(c) { ' ' } else { c }).collect();
    let mut line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        line = line.replace(secret, "***");
    }
    match line.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Control characters, and the invisible ones that change how the rest of a line is read.
#[cfg(feature = "oauth")]
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(all(test, feature = "oauth"))]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_value() {
        assert_eq!(format!("{:?}", Secret::new("abc")), "Secret(***)");
    }

    #[test]
    fn a_quote_is_one_plain_line_without_secrets() {
        assert_eq!(
            quote("bad\u{1b}[31m\r\n token t0p-s3cret\u{202e}!", &["t0p-s3cret", ""]),
            "bad [31m token *** !"
        );
        assert_eq!(quote(&"x".repeat(500), &[]).chars().count(), QUOTE_CHARS + 1);
    }
}
