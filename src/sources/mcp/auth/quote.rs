//! The way for foreign text to get into an error message.

use crate::invisible::is_invisible;

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 200;

/// Foreign text made fit for an error message: one line, nothing that steers a terminal, none of the secrets, not long.
///
/// Secrets are taken out after the control characters, which may stand inside of one, and before the text is cut.
pub(super) fn quote(text: &str, secrets: &[&str]) -> String {
    let plain: String = text.chars().map(|c| if is_invisible(c) { ' ' } else { c }).collect();
    let mut line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        line = line.replace(secret, "***");
    }
    match line.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_one_plain_line_without_secrets() {
        assert_eq!(
            quote("bad\u{1b}[31m\r\n token t0p-s3cret\u{202e}!", &["t0p-s3cret", ""]),
            "bad [31m token *** !"
        );
        assert_eq!(quote(&"x".repeat(500), &[]).chars().count(), QUOTE_CHARS + 1);
    }
}
