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

/// A counter from the content of a file: a `tokenizer.json`, or a tiktoken file of `base64 rank` lines. The
/// encoding of a tiktoken file is recognised by its name (`cl100k_base.tiktoken`), otherwise by its size. The error says what
/// to do.
pub fn load(name: &str, content: &[u8]) -> Result<Box<dyn TokenCounter>, String> {
    if content.trim_ascii_start().starts_with(b"{") {
        return load_json(content);
    }
    Ok(Box::new(Tiktoken::from_ranks(name, content)?))
}

#[cfg(feature = "tokenizers")]
fn load_json(content: &[u8]) -> Result<Box<dyn TokenCounter>, String> {
    Ok(Box::new(HuggingFace::from_json(content)?))
}

#[cfg(not(feature = "tokenizers"))]
fn load_json(_content: &[u8]) -> Result<Box<dyn TokenCounter>, String> {
    Err("This build cannot load such a tokenizer; build toolhub with the feature `tokenizers`, or leave the tokenizer out to count by \
         estimate."
        .to_owned())
}
