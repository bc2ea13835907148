//! Values that must not be shown, and the one way for foreign text to get into an error message.

mod arguments;
mod in_text;
mod names;

pub use arguments::{ArgumentValues, Hidden, LABELS};
pub use in_text::is_secret_flag;
pub use names::is_secret_name;

use crate::invisible::one_line;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 300;
const SHORTEST_BEGINNING: usize = 8;

/// A string that `Debug` does not show. An empty one means that there is none. It is serialized as it is: that is what a
/// store of tokens does.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(***)" })
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

/// Takes the known secrets out of foreign text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    secrets: Vec<Secret>,
}

impl Redactor {
    pub(crate) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = secrets.into_iter().filter(|s| !s.is_empty()).collect();
        // Longest first: a secret that contains another one is replaced whole, no rest stays.
        secrets.sort_by_key(|s| std::cmp::Reverse(s.0.len()));
        Self { secrets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The text with `***` where a secret was, or where the end of the text or a `…` cut one off.
    pub(crate) fn hide(&self, mut text: String) -> String {
        for Secret(secret) in &self.secrets {
            if text.contains(secret) {
                text = text.replace(secret, "***");
            }
            let cuts: Vec<usize> = text.match_indices('…').map(|(at, _)| at).collect();
            for at in cuts.into_iter().rev() {
                if let Some(length) = begun_at_end(&text[..at], secret) {
                    text.replace_range(at - length..at, "***");
                }
            }
            if let Some(length) = begun_at_end(&text, secret) {
                text.truncate(text.len() - length);
                text.push_str("***");
            }
        }
        text
    }

    /// Foreign text made fit for an error message: one line, no terminal commands, no secrets, at most
    /// [`QUOTE_CHARS`] characters.
    ///
    /// Secrets are hidden twice: before cleaning, which could take the first character of a secret along with a
    /// terminal command, and after it, because it can join the halves of one. Cutting comes last.
    pub(crate) fn quote(&self, text: &str) -> String {
        let hidden = self.hide(one_line(&self.hide(text.to_owned())));
        match hidden.char_indices().nth(QUOTE_CHARS) {
            Some((end, _)) => format!("{}…", hidden[..end].trim_end()),
            None => hidden,
        }
    }
}

/// The length of the longest beginning of the secret that the text ends with. A few characters are no
/// secret yet, and would be found by chance.
fn begun_at_end(text: &str, secret: &str) -> Option<usize> {
    let ends = secret.char_indices().map(|(end, _)| end);
    ends.rev().take_while(|end| *end >= SHORTEST_BEGINNING).find(|end| text.ends_with(&secret[..*end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn debug_shows_nothing_of_the_value() {
        assert_eq!(format!("{:?}", Secret::new("sk-1234")), "Secret(***)");
        assert_eq!(format!("{:?}", Secret::default()), "Secret(none)");
    }

    #[test]
    fn a_secret_inside_another_leaves_no_rest() {
        let redactor = Redactor::new([Secret::new("sk-1"), Secret::new("sk-1-long")]);
        assert_eq!(redactor.quote("got sk-1-long, sk-1"), "got ***, ***");
    }

    #[test]
    fn terminal_commands_go_and_lines_become_spaces() {
        let redactor = Redactor::default();
        assert_eq!(redactor.quote("a\u{1b}[31m\r\n b\u{202e}c"), "a bc");
    }

    #[test]
    fn a_secret_is_hidden_whatever_stands_in_or_before_it() {
        let redactor = Redactor::new([Secret::new("sk-1234567890")]);
        assert_eq!(redactor.quote("key \u{1b}[sk-1234567890"), "key");
        assert_eq!(redactor.quote("key sk-12345\u{200b}67890"), "key ***");
    }

    #[test]
    fn a_secret_that_the_end_cuts_off_is_hidden_too() {
        let redactor = Redactor::new([Secret::new("sk-1234567890")]);
        assert_eq!(redactor.quote("bad key sk-1234567"), "bad key ***");
        assert_eq!(redactor.quote("bad key sk-12345"), "bad key ***");
        assert_eq!(redactor.quote("this is sk"), "this is sk");
        assert_eq!(redactor.hide("bad key sk-12345… (code 1)".into()), "bad key ***… (code 1)");
    }

    proptest! {
        #[test]
        fn a_quote_is_short_printable_and_without_the_key(
            before in ".{0,400}", key in "[!-~]{6,40}", after in ".{0,400}"
        ) {
            let redactor = Redactor::new([Secret::new(&*key)]);
            let quote = redactor.quote(&format!("{before}{key}{after}"));
            prop_assert!(!quote.contains(&key));
            prop_assert!(quote.chars().count() <= QUOTE_CHARS + 1);
            prop_assert!(!quote.chars().any(crate::invisible::is_invisible));
        }
    }
}
