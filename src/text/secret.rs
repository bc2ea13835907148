//! Values that must not be shown, and the one way for foreign text to get into an error message.

mod arguments;
mod in_path;
mod in_text;
mod kinds;
mod names;
mod normalized;
mod redactor;
mod scrub;
mod value_rules;

pub use arguments::ArgumentValues;
pub use in_path::{secret_segments, shown_path};
pub use in_text::secrets_in;
pub use kinds::known_secrets;
pub use names::{LABELS, is_secret_flag, is_secret_name, speaks_of_secret};
pub use redactor::Redactor;
pub use scrub::{scrubbed, scrubbed_text};

use serde::{Deserialize, Serialize};
use std::fmt;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_value() {
        assert_eq!(format!("{:?}", Secret::new("sk-1234")), "Secret(***)");
        assert_eq!(format!("{:?}", Secret::default()), "Secret(none)");
    }
}
