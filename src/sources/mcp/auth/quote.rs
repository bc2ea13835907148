//! The way for foreign text to get into an error message.

use crate::invisible::one_line;

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 200;

/// Foreign text made fit for an error message: one line, no terminal commands, no secrets, bounded.
///
/// Secrets are hidden before and after cleaning, as in `secret::Redactor::quote`, and before the text is cut.
pub(super) fn quote(text: &str, secrets: &[&str]) -> String {
    let hide = |text: String| {
        let given = secrets.iter().filter(|secret| !secret.is_empty());
        given.fold(text, |text, secret| text.replace(secret, "***"))
    };
    let line = hide(one_line(&hide(text.to_owned())));
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
            "bad token ***!"
        );
        assert_eq!(quote(&"x".repeat(500), &[]).chars().count(), QUOTE_CHARS + 1);
    }
}
