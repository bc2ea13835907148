//! Counting tokens: exactly with an encoding that the user provides, otherwise by an estimate that is marked as such.
//!
//! `tokenizers` (Hugging Face) is a cargo feature, for what it costs to build. Nothing is ever downloaded.

mod counter;
mod estimate;
#[cfg(feature = "tokenizers")]
mod huggingface;
mod tiktoken;

pub use counter::{LoadError, TokenCounter};
pub use estimate::Estimate;
#[cfg(feature = "tokenizers")]
pub use huggingface::HuggingFace;
pub use tiktoken::Tiktoken;

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
