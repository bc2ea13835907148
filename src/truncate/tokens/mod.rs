//! Counting tokens: exactly with an encoding that the user has, otherwise by an estimate that says so.
//!
//! The exact counters are cargo features, for what they cost to build: `tiktoken` is light, `tokenizers`
//! (Hugging Face) is not. Nothing is ever downloaded.

mod estimate;
#[cfg(feature = "tokenizers")]
mod huggingface;
#[cfg(feature = "tiktoken")]
mod tiktoken;

pub use estimate::Estimate;
#[cfg(feature = "tokenizers")]
pub use huggingface::HuggingFace;
#[cfg(feature = "tiktoken")]
pub use tiktoken::Tiktoken;

use std::fmt;

/// Something that knows how many tokens a text has.
pub trait TokenCounter: Send + Sync {
    fn count(&self, text: &str) -> usize;

    /// The byte index, on a character boundary, of the longest prefix that is within `tokens`. It may be off
    /// by a token where an encoding joins across the cut: the caller counts what it made of it.
    fn prefix(&self, text: &str, tokens: usize) -> usize;

    /// Whether the numbers are only an estimate.
    fn estimated(&self) -> bool;
}

/// Why a tokenizer could not be loaded: one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// This build has no such counter: the feature that brings it.
    NotBuilt(&'static str),
    /// A `tokenizer.json` that cannot be used, and why.
    Json(String),
    /// A line of a tiktoken file that is not `base64 rank`.
    Line(usize),
    /// A tiktoken file that does not know every single byte.
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
/// name of the file tells a tiktoken encoding (`cl100k_base.tiktoken`), otherwise its size does.
pub fn load(name: &str, content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    if content.trim_ascii_start().starts_with(b"{") { load_json(content) } else { load_ranks(name, content) }
}

#[cfg(feature = "tokenizers")]
fn load_json(content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Ok(Box::new(HuggingFace::from_json(content)?))
}

#[cfg(not(feature = "tokenizers"))]
fn load_json(_content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Err(LoadError::NotBuilt("tokenizers"))
}

#[cfg(feature = "tiktoken")]
fn load_ranks(name: &str, content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Ok(Box::new(Tiktoken::from_ranks(name, content)?))
}

#[cfg(not(feature = "tiktoken"))]
fn load_ranks(_name: &str, _content: &[u8]) -> Result<Box<dyn TokenCounter>, LoadError> {
    Err(LoadError::NotBuilt("tiktoken"))
}
