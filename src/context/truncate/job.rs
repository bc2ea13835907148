//! One text to be truncated, and the result.

use super::chars::{Chars, count};
use super::notice::{self, Noun, language_of};
use super::tokens::TokenCounter;
use toolhub_types::model::Lang;

/// The unit of a limit.
#[derive(Clone, Copy, Default)]
pub enum Unit<'a> {
    /// Unicode scalar values, as `len()` counts them in Python.
    #[default]
    Chars,
    Tokens(&'a dyn TokenCounter),
}

/// How to truncate.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub unit: Unit<'a>,
    /// Keep only this many items of a JSON list of hits, even if all would fit.
    pub hits: Option<usize>,
    /// `Zh` writes notices in Chinese; otherwise they are in the language of the text.
    pub lang: Lang,
}

/// A text within its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncated {
    pub text: String,
    /// How much was removed, in the unit of the limit.
    pub cut: usize,
    /// The size of the whole text.
    pub total: usize,
    /// True if `cut` and `total` are estimates: no exact tokenizer, or a text too long to count its tokens.
    pub estimated: bool,
    /// True if `text` differs from the input.
    pub truncated: bool,
}

/// One text to be truncated, and how it is measured.
pub(super) struct CutJob<'a> {
    /// The start of the text, or all of it if `whole`.
    pub window: &'a str,
    pub whole: bool,
    pub limit: usize,
    pub total_chars: usize,
    /// The size of the whole text in the unit of the limit.
    pub total: usize,
    pub estimated: bool,
    pub counter: &'a dyn TokenCounter,
    pub noun: Noun,
    pub lang: Lang,
}

impl<'a> CutJob<'a> {
    pub fn new(window: &'a str, total_chars: usize, limit: usize, options: &Options<'a>) -> Self {
        let window_chars = count(window);
        let total_chars = total_chars.max(window_chars);
        let whole = window_chars == total_chars;
        let lang = if options.lang == Lang::Zh { Lang::Zh } else { language_of(window) };
        let (counter, noun): (&dyn TokenCounter, _) = match options.unit {
            Unit::Chars => (&Chars, Noun::Characters),
            Unit::Tokens(counter) => (counter, Noun::Tokens),
        };
        let total = match noun {
            Noun::Characters => total_chars,
            Noun::Tokens => extrapolated(counter, window, window_chars, total_chars),
        };
        let estimated = noun == Noun::Tokens && (counter.estimated() || !whole);
        CutJob { window, whole, limit, total_chars, total, estimated, counter, noun, lang }
    }

    pub fn unchanged(&self) -> Truncated {
        Truncated { cut: 0, truncated: false, ..self.cut_to(self.window.to_owned(), 0) }
    }

    /// The result with `text`, of which `kept` units are from the input.
    pub fn cut_to(&self, text: String, kept: usize) -> Truncated {
        Truncated {
            text,
            cut: self.total.saturating_sub(kept),
            total: self.total,
            estimated: self.estimated,
            truncated: true,
        }
    }

    pub fn notice(&self, cut: usize) -> String {
        notice::notice(self.lang, self.noun, self.estimated, cut, self.total)
    }
}

/// The tokens of a text of which only the start is known, extrapolated from it.
fn extrapolated(counter: &dyn TokenCounter, window: &str, window_chars: usize, total_chars: usize) -> usize {
    let known = counter.count(window);
    if window_chars == total_chars || window_chars == 0 {
        return known;
    }
    let total = known as u128 * total_chars as u128 / window_chars as u128;
    usize::try_from(total).unwrap_or(usize::MAX)
}
