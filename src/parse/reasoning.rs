//! Reasoning: which parts of a text a model only thought.
//!
//! The opening tag of reasoning often stands in the prompt template, so a text may begin inside of it and show only the
//! closing tag. What looks like a call before that tag was only thought of, and must not be made. Until it is certain where
//! the text began, calls are held back (see `hold`).
//!
//! A closing tag may also follow an earlier one: the first was quoted, or belonged to a tag inside. So everything before the last
//! closing tag that has no opening tag of its own was thought, and only the end of the text makes a call certain.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::reasoning_tags::{ReasoningTag, closing, rest_of_tag};

/// Where a text begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningMode {
    /// Inside of reasoning if a closing tag comes without its opening tag. Calls are held back until that is certain.
    #[default]
    Auto,
    /// Inside of reasoning: everything up to the closing tag is text. Without that tag, all of it is. After it, as `Auto`.
    Open,
    /// Outside of reasoning: each call counts at once.
    Closed,
}

impl ReasoningMode {
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            _ => Err(format!("reasoning must be \"auto\", \"open\" or \"closed\", got \"{name}\".")),
        }
    }

    /// The mode for texts of one format. Where no model thinks, nothing has to be held back.
    pub(super) fn of_format(self, asked: Option<&str>) -> Self {
        match (self, asked) {
            (Self::Auto, Some(format)) if WITHOUT_REASONING.contains(&format) => Self::Closed,
            (mode, _) => mode,
        }
    }
}

/// Formats that only models without reasoning write.
const WITHOUT_REASONING: &[&str] = &["functiongemma", "mistral_json", "phi4", "react"];

/// The first closing tag in a text that is not only mentioned: its start and end.
pub(super) fn first_closing(text: &str) -> Option<(usize, usize)> {
    static SEARCH: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let search = SEARCH
        .get_or_init(|| AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(closing()).ok())
        .as_ref()?;
    let bytes = text.as_bytes();
    let is_quoted = |from: usize, to: usize| {
        let before = from.checked_sub(1).and_then(|at| bytes.get(at));
        is_mention(before.copied(), bytes.get(to).copied())
    };
    let whole = |from: usize, to: usize| match ReasoningTag::closed_by(&text[from..to]) {
        Some(tag) if tag.is_element => rest_of_tag(&bytes[to..], true)?.map(|rest| (from, to + rest)),
        _ => Some((from, to)),
    };
    let mut found = search.find_iter(text).filter_map(|found| whole(found.start(), found.end()));
    found.find(|(from, to)| !is_quoted(*from, *to))
}

/// True if the bytes around a tag are a pair of quotes: it is only mentioned.
pub(super) fn is_mention(before: Option<u8>, after: Option<u8>) -> bool {
    match (before, after) {
        (Some(b'('), Some(b')')) => true,
        (Some(quote @ (b'`' | b'"' | b'\'')), Some(after)) => after == quote,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_in_quotes_is_a_mention() {
        assert_eq!(first_closing("a `</think>` b</think>"), Some((14, 22)));
        assert_eq!(first_closing("run `ls`</think>"), Some((8, 16)));
        assert_eq!(first_closing("a </thinking:x >b"), Some((2, 16)));
        assert_eq!(first_closing("a </thinker> b"), None);
        assert_eq!(first_closing("nothing"), None);
    }
}
