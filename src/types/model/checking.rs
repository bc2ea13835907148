//! How arguments are checked, and what a check finds.

use std::fmt;
use std::sync::Arc;

/// Runs work that may take long.
pub type RunAside<'a> = &'a dyn Fn(&mut (dyn FnMut() + Send));

/// How arguments are checked.
#[derive(Clone, Copy)]
pub struct CheckOptions<'a> {
    /// Whether arguments may be replaced by others that fit and mean the same.
    pub coerce: bool,
    /// Runs a check that takes longer than usual (up to some tenths of a second), where it holds up no other work.
    pub aside: RunAside<'a>,
}

impl CheckOptions<'_> {
    /// A check on the current thread.
    pub fn here(coerce: bool) -> Self {
        CheckOptions { coerce, aside: &|work| work() }
    }
}

/// A rule of a schema that was not checked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The keyword, as a JSON pointer into the schema.
    pub place: Arc<str>,
    pub reason: &'static str,
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} is not checked: {}", self.place, self.reason)
    }
}

/// Arguments that fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitting<T> {
    /// What replaces the arguments; `None` if they fit as they are.
    pub replacement: Option<T>,
    /// Rules that were not checked.
    pub unchecked: Vec<Unchecked>,
}

impl<T> Fitting<T> {
    pub fn unchanged() -> Self {
        Fitting { replacement: None, unchecked: Vec::new() }
    }
}
