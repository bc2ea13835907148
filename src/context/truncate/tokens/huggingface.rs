//! Tokens of a Hugging Face `tokenizer.json`, counted by the `tokenizers` crate.

use super::TokenCounter;
use tokenizers::Tokenizer;

/// Counts with a `tokenizer.json`, without the special tokens that a model adds around a text.
pub struct HuggingFace(Tokenizer);

impl HuggingFace {
    pub fn from_json(content: &[u8]) -> Result<Self, String> {
        let unusable = |why| {
            format!(
                "Expected a Hugging Face tokenizer.json, but it cannot be used ({why}); give another file."
            )
        };
        let mut tokenizer = Tokenizer::from_bytes(content).map_err(unusable)?;
        // A file may ask to truncate or pad every text to the length of its model.
        tokenizer.with_truncation(None).map_err(unusable)?;
        tokenizer.with_padding(None);
        Ok(HuggingFace(tokenizer))
    }
}

impl TokenCounter for HuggingFace {
    fn count(&self, text: &str) -> usize {
        // Encoding fails only for vocabularies without an unknown token: then count one token per byte.
        self.0.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len())
    }

    fn prefix(&self, text: &str, tokens: usize) -> usize {
        let Ok(encoding) = self.0.encode(text, false) else {
            return (0..=tokens.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
        };
        // The first surplus token starts where the prefix ends; several may share one character.
        let mut end = encoding.get_offsets().get(tokens).map_or(text.len(), |(start, _)| *start);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r#"{"version":"1.0","truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},
        "padding":null,"added_tokens":[],"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Whitespace"},
        "post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"hello":0,"world":1,"[UNK]":2},"unk_token":"[UNK]"}}"#;

    #[test]
    fn counts_as_the_file_says_and_ignores_its_limits() -> Result<(), String> {
        let counter = HuggingFace::from_json(WORDS.as_bytes())?;
        assert_eq!(counter.count("Hello world, 世界"), 4);
        assert_eq!(counter.prefix("Hello world, 世界", 2), "Hello world".len());
        assert_eq!(counter.prefix("Hello world", 9), "Hello world".len());
        assert!(!counter.estimated());
        Ok(())
    }

    #[test]
    fn another_file_is_refused_with_a_reason() {
        let error = HuggingFace::from_json(b"{}").err();
        assert!(error.is_some_and(|error| error.starts_with("Expected a Hugging Face tokenizer.json")));
    }
}
