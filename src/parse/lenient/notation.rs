//! How a dialect writes the values of its calls.

/// How strings and brackets are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// JSON, with the mistakes models make in it.
    Json,
    /// JSON whose strings stand between two of these tokens, without escapes.
    Quoted(&'static str),
    /// Python: also parentheses and triple quotes.
    Python,
}
