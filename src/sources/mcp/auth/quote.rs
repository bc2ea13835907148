//! The way for foreign text to get into an error message.

use toolhub_text::secret::{Redactor, Secret};

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 200;

/// Foreign text made fit for an error message: one line, no terminal commands, no secrets, bounded.
pub(super) fn quote(text: &str, secrets: &[&str]) -> String {
    Redactor::new(secrets.iter().map(|secret| Secret::new(*secret))).quote_within(text, QUOTE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_one_plain_line_without_secrets() {
        assert_eq!(
            quote("bad\u{1b}[31m\r\n token t0p-s3cret\u{202e}!", &["t0p-s3cret", ""]),
            "bad token ***!"
        );
        assert_eq!(quote(&"x".repeat(500), &[]).chars().count(), QUOTE_CHARS + 1);
    }
}
