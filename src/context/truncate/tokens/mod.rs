//! Counting tokens: exactly with an encoding that the user provides, otherwise by an estimate that is marked as such.
//!
//! `tokenizers` (Hugging Face) is a cargo feature, for what it costs to build. Nothing is ever downloaded.

mod estimate;
#[cfg(feature = "tokenizers")]
mod huggingface;
mod tiktoken;

pub use estimate::Estimate;
#[cfg(feature = "tokenizers")]
pub use huggingface::HuggingFace;
pub use tiktoken::Tiktoken;

use std::fmt;

/// Counts the tokens of a text.
pub trait TokenCounter: Send + Sync {
    fn count(&self, text: &str) -> usize;

    /// The byte index, on a character boundary, of the longest prefix that is within `tokens`. It may be off
    /// by one token where an encoding joins across the cut, so the caller counts the result again.
    fn prefix(&self, text: &str, tokens: usize) -> usize;

    /// True if the counts are estimates.
    fn estimated(&self) -> bool {
        false
    }
}

/// Why a tokenizer could not be loaded, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// This build lacks the counter: the feature that adds it.
    NotBuilt(&'static str),
    /// A `tokenizer.json` that cannot be used, and why.
    Json(String),
    /// A line of a tiktoken file that is not `base64 rank`.
    Line(usize),
    /// A tiktoken file without all 256 single bytes: how many it has.
    Incomplete(usize),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotBuilt(feature) => write!(
                f,
                "This build cannot load such a tokenizer; build toolhub with the feature `{feature}`, or leave the tokenizer out to count by estimate."
            ),
            LoadError::Json(why) => {
                write!(
                    f,
                    "Expected a Hugging Face tokenizer.json, but it cannot be used ({why}); give another file."
                )
            }
            LoadError::Line(line) => write!(
                f,
                "Expected a tiktoken file with `base64 rank` on each line, but line {line} is not; give a .tiktoken file or a tokenizer.json."
            ),
            LoadError::Incomplete(found) => write!(
                f,
                "Expected a tiktoken file that knows all 256 bytes, but it knows {found}; give the complete file."
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// A counter from the content of a file: a `tokenizer.json`, or a tiktoken file of `base64 rank` lines. The
/// encoding of a tiktoken file is recognised by its name (`cl100k_base.tiktoken`), otherwise by its size.
pub fn load(name: &str, content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    if content.trim_ascii_start().starts_with(b"{") {
        return load_json(content);
    }
    Ok(Box::new(Tiktoken::from_ranks(name, content)?))
}

#[cfg(feature = "tokenizers")]
fn load_json(content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Ok(Box::new(HuggingFace::from_json(content)?))
}

#[cfg(not(feature = "tokenizers"))]
fn load_json(_content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Err(LoadError::NotBuilt("tokenizers"))
}
