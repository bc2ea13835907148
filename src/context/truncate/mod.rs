//! Truncation: a text is cut where a reader would cut it, with a note of how much is missing.
//!
//! | the text | where it is cut |
//! |---|---|
//! | prose | after a sentence in the last 40 % of what fits, otherwise after a word, never inside a grapheme cluster |
//! | Markdown | the same; a code block is closed, a table ends between rows, a link stays whole |
//! | JSON | inside: long strings and arrays are shortened, deep nesting is closed, so that it still parses |
//!
//! Only the start of a text is read ([`window_chars`]), so 10 MB cost as much as 100 KB. The output, notice
//! included, is within the limit. A text within the limit is returned unchanged, so truncating twice changes
//! nothing.
//!
//! ```
//! use toolhub_context::truncate::{Options, truncate};
//! let cut = truncate(&"A short sentence. ".repeat(100), 80, &Options::default());
//! assert_eq!(cut.text, "A short sentence. A short sentence. … [1,765 of 1,800 characters cut]");
//! ```

mod boundary;
mod chars;
mod job;
mod json;
mod limits;
mod markdown;
mod notice;
mod page;
mod prose;
mod sentence;
pub mod tokens;

pub use job::{Options, Truncated, Unit};
pub use limits::Limits;
pub use notice::grouped;
pub use page::page;
pub use tokens::TokenCounter;

pub(crate) use chars::is_han;
use chars::{count, index_of};
use job::CutJob;

/// A text of up to this many characters has its tokens counted; a longer one is extrapolated.
const COUNTED: usize = 16_384;

/// Truncates `text` to `limit`.
pub fn truncate(text: &str, limit: usize, options: &Options<'_>) -> Truncated {
    truncate_window(text, count(text), limit, options)
}

/// The number of characters at the start of a text that decide the result. A caller with a huge foreign string
/// passes only these to [`truncate_window`]. `head` is the text, or any first part of it that is not only
/// white space.
pub fn window_chars(limit: usize, head: &str, options: &Options<'_>) -> usize {
    let prose = match options.unit {
        Unit::Chars => limit.saturating_add(64),
        // A token is rarely longer than 16 characters: only runs of one character.
        Unit::Tokens(_) => limit.saturating_mul(16).max(COUNTED),
    };
    if json::begins(head) {
        // Look beyond a long string, up to a size where that no longer pays.
        prose.saturating_add(limit.saturating_mul(3).saturating_add(1024).min(1 << 18))
    } else {
        prose
    }
}

/// Truncates a text of `total_chars` characters of which only the start is available. The result is that of
/// [`truncate`] with the whole text, if `window` has at least [`window_chars`] characters or is the whole
/// text.
pub fn truncate_window(window: &str, total_chars: usize, limit: usize, options: &Options<'_>) -> Truncated {
    // A longer window must not change the result.
    let window = &window[..index_of(window, window_chars(limit, window, options))];
    let job = CutJob::new(window, total_chars, limit, options);
    let fits = job.whole && job.total <= limit;
    if fits && (options.hits.is_none() || !json::begins(window)) {
        return job.unchanged();
    }
    if json::begins(window)
        && let Some(cut) = json::cut(&job, options.hits, fits)
    {
        return cut;
    }
    if fits { job.unchanged() } else { prose::cut(&job) }
}
