//! Results that fit: a text is cut where a reader would cut it, and says how much is missing.
//!
//! | the text | where it is cut |
//! |---|---|
//! | prose | after a sentence in the last 40 % of what fits, otherwise after a word, never inside a grapheme cluster |
//! | Markdown | the same; a code block is closed, a table ends between rows, a link stays whole |
//! | JSON | inside: long strings and arrays are shortened, deep nesting is closed, so that it still parses |
//!
//! Only the start of a text is ever looked at ([`window_chars`]), so that 10 MB cost what 100 KB cost. The
//! output, notice included, is within the limit; a text that is within it is returned as it is, so cutting
//! twice changes nothing.
//!
//! ```
//! use toolhub::truncate::{Options, truncate};
//! let cut = truncate(&"A short sentence. ".repeat(100), 80, &Options::default());
//! assert_eq!(cut.text, "A short sentence. A short sentence. … [1,765 of 1,800 characters cut]");
//! ```

mod boundary;
mod chars;
mod json;
mod kind;
mod markdown;
mod notice;
mod prose;
mod sentence;
pub mod tokens;

pub use kind::{Kind, Limits};
pub use tokens::TokenCounter;

use chars::{Chars, count, index_of};
use notice::{Language, Noun};

/// What a limit counts.
#[derive(Clone, Copy, Default)]
pub enum Unit<'a> {
    /// Unicode scalar values, as `len()` counts them in Python.
    #[default]
    Chars,
    Tokens(&'a dyn TokenCounter),
}

/// How to cut.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub unit: Unit<'a>,
    /// Of a JSON list of hits keep only so many, even when all of them would fit.
    pub hits: Option<usize>,
}

/// A text within its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncated {
    pub text: String,
    /// How much of the text is gone, in the unit of the limit.
    pub cut: usize,
    /// How much there was.
    pub total: usize,
    /// Whether `cut` and `total` are estimates: no exact tokenizer, or a text that is too long to count its
    /// tokens.
    pub estimated: bool,
    /// Whether `text` differs from what was given.
    pub truncated: bool,
}

/// One text to be cut: what is known of it, and how it is measured.
struct Job<'a> {
    /// The start of the text; all of it when `whole`.
    window: &'a str,
    whole: bool,
    limit: usize,
    total_chars: usize,
    /// The size of the whole text in the unit of the limit.
    total: usize,
    estimated: bool,
    counter: &'a dyn TokenCounter,
    noun: Noun,
    language: Language,
}

/// A text of up to this many characters has its tokens counted; a longer one is extrapolated.
const COUNTED: usize = 16_384;

/// Cuts `text` to `limit`.
pub fn truncate(text: &str, limit: usize, options: &Options<'_>) -> Truncated {
    truncate_window(text, count(text), limit, options)
}

/// How many characters of the start of a text decide the result. A caller that holds a huge foreign string
/// hands over only these, to [`truncate_window`]. `head` is the text or any first part of it that is not only
/// white space.
pub fn window_chars(limit: usize, head: &str, options: &Options<'_>) -> usize {
    let prose = match options.unit {
        Unit::Chars => limit.saturating_add(64),
        // A token is rarely longer than 16 characters: only runs of one sign.
        Unit::Tokens(_) => limit.saturating_mul(16).max(COUNTED),
    };
    if json::begins(head) {
        // What follows a long string is worth seeing; beyond some size that no longer pays.
        prose.saturating_add(limit.saturating_mul(3).saturating_add(1024).min(1 << 18))
    } else {
        prose
    }
}

/// Cuts a text of `total_chars` characters of which only the start is at hand: the same result as
/// [`truncate`] with the whole text, when `window` has at least [`window_chars`] characters or is the whole
/// text.
pub fn truncate_window(window: &str, total_chars: usize, limit: usize, options: &Options<'_>) -> Truncated {
    // More than is needed must not matter.
    let window = &window[..index_of(window, window_chars(limit, window, options))];
    let job = Job::new(window, total_chars, limit, options);
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

impl<'a> Job<'a> {
    fn new(window: &'a str, total_chars: usize, limit: usize, options: &Options<'a>) -> Self {
        let window_chars = count(window);
        let total_chars = total_chars.max(window_chars);
        let whole = window_chars == total_chars;
        let language = Language::of(window);
        match options.unit {
            Unit::Chars => Job {
                window,
                whole,
                limit,
                total_chars,
                total: total_chars,
                estimated: false,
                counter: &Chars,
                noun: Noun::Characters,
                language,
            },
            Unit::Tokens(counter) => Job {
                window,
                whole,
                limit,
                total_chars,
                total: extrapolated(counter, window, window_chars, total_chars),
                estimated: counter.estimated() || !whole,
                counter,
                noun: Noun::Tokens,
                language,
            },
        }
    }

    fn unchanged(&self) -> Truncated {
        Truncated {
            text: self.window.to_owned(),
            cut: 0,
            total: self.total,
            estimated: self.estimated,
            truncated: false,
        }
    }

    /// The result with `text`, of which `kept` (in the unit) stems from the text.
    fn cut_to(&self, text: String, kept: usize) -> Truncated {
        Truncated {
            text,
            cut: self.total.saturating_sub(kept),
            total: self.total,
            estimated: self.estimated,
            truncated: true,
        }
    }

    fn notice(&self, cut: usize) -> String {
        notice::notice(self.language, self.noun, self.estimated, cut, self.total)
    }
}

/// The tokens of a text of which only the start is known, as if the rest were like it.
fn extrapolated(counter: &dyn TokenCounter, window: &str, window_chars: usize, total_chars: usize) -> usize {
    let known = counter.count(window);
    if window_chars == total_chars || window_chars == 0 {
        return known;
    }
    let total = known as u128 * total_chars as u128 / window_chars as u128;
    usize::try_from(total).unwrap_or(usize::MAX)
}
