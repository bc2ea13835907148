//! How certain it is that a call was meant. Only the structure of the text decides, never its words.
//!
//! A model that means a call writes it in the marker of its dialect and stops. One that declines, quotes or plans a call goes on
//! talking, or writes it in a form that every text may have. So a call in a marker of the committed dialect with nothing after it
//! is sure. The dialect is committed by the caller, or by the first strong marker of the text. A fence around all of the message is
//! not part of what it says; every other mark is, whatever it looks like.

use super::parsed::ParsedCall;
use serde::Serialize;

/// Chat APIs whose name may be given as the format, as [`ParsedText::format`](super::ParsedText) reports them.
pub(super) const API_FORMATS: &[&str] = &["openai", "openai_responses", "anthropic", "gemini"];

/// How certain it is that a call was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// A bare form with words around it, or another dialect than the committed one.
    Doubtful,
    /// Marked, but words follow; or a bare form that is the whole message.
    Likely,
    /// In the structure of an API; or marked, and only white space, end tokens or further calls follow.
    Sure,
}

impl Certainty {
    pub fn name(self) -> &'static str {
        match self {
            Self::Doubtful => "doubtful",
            Self::Likely => "likely",
            Self::Sure => "sure",
        }
    }
}

/// The form in which calls are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallForm {
    /// The first dialect of the row of the table, unless the reader knows better.
    pub format: &'static str,
    /// Without a marker, in a text of unknown dialect: JSON, `[name(…)]`, `Action:`, a fence, a message of an API as text.
    pub is_bare: bool,
}

/// What is known about the calls of a text so far. Most texts have calls of one form.
#[derive(Debug, Clone, Default)]
pub(super) struct CallForms {
    /// The forms of the calls: each holds from the call with this index on.
    runs: Vec<(usize, CallForm)>,
    /// The number of calls that words follow, or may follow.
    before_words: usize,
    /// There are words around the calls, outside of reasoning.
    has_words: bool,
    /// The fence that is open at the end of the text so far, and the number of calls before it.
    fence: Option<(FenceLine, usize)>,
    /// Whether a marker of one dialect is one of the other too; `None`: only if they are the same.
    pub share_marker: Option<fn(&str, &str) -> bool>,
}

/// The line that begins or ends a fence.
#[derive(Debug, Clone, Copy)]
pub(super) struct FenceLine {
    pub mark: u8,
    /// How often the mark stands there.
    pub run: usize,
    /// Nothing follows the marks: the line may end a fence.
    pub is_plain: bool,
}

impl CallForms {
    /// Notes the form of the calls from this index on.
    #[inline]
    pub fn note(&mut self, index: usize, form: CallForm) {
        if self.runs.last().is_none_or(|(_, last)| *last != form) {
            self.runs.push((index, form));
        }
    }

    /// Notes text around the calls, of which there are `calls` so far.
    #[inline]
    pub fn pass(&mut self, text: &str, calls: usize) {
        // Where words are known to follow, more text tells nothing new.
        let is_known = self.has_words && self.before_words == calls;
        if !is_known && !text.trim_start().is_empty() {
            (self.has_words, self.before_words) = (true, calls);
        }
    }

    /// Notes that words may follow this many calls.
    pub fn doubt(&mut self, calls: usize) {
        self.before_words = self.before_words.max(calls);
    }

    /// Notes the line of a fence; true if it is part of a frame around the message, and so says nothing.
    pub fn pass_fence(&mut self, line: FenceLine, calls: usize) -> bool {
        match self.fence {
            None => self.fence = Some((line, calls)),
            Some((open, _)) if line.mark == open.mark && line.run >= open.run && line.is_plain => {
                self.fence = None;
            }
            Some(_) => return false,
        }
        !self.has_words
    }

    /// The words so far were only thought: they are not part of the message.
    pub fn forget_words(&mut self) {
        (self.has_words, self.fence) = (false, None);
    }

    /// Forgets the calls from this index on: they became text.
    pub fn truncate(&mut self, calls: usize) {
        self.runs.retain(|(first, _)| *first < calls);
    }

    /// The format of the first of this many calls that has a form which fits.
    fn first(&self, calls: usize, fits: impl Fn(CallForm) -> bool) -> Option<&'static str> {
        let mut forms = self.runs.iter().take_while(|(first, _)| *first < calls).map(|(_, form)| *form);
        forms.find(|form| fits(*form)).map(|form| form.format)
    }

    /// The format to report: the dialect of the first marker, or the API whose message was written as text.
    pub fn format(&self, calls: usize) -> Option<&'static str> {
        let is_api = |form: CallForm| form.is_bare && API_FORMATS.contains(&form.format);
        self.first(calls, |form| !form.is_bare).or_else(|| self.first(calls, is_api))
    }

    /// Says how certain each of these calls is, of which the first has this index. The text must have ended.
    pub fn judge(&self, calls: &mut [ParsedCall], first: usize) {
        let indexed = calls.iter_mut().zip(first..);
        indexed.for_each(|(call, index)| call.certainty = Some(self.certainty(index)));
    }

    fn certainty(&self, index: usize) -> Certainty {
        let run = self.runs.partition_point(|(first, _)| *first <= index);
        // With words beside it, a fence that nothing ends shows what stands in it; its mark follows the calls before it.
        let is_framed = self.fence.is_none_or(|(_, calls)| !self.has_words && index >= calls);
        let is_last = is_framed && index >= self.before_words;
        let committed = self.first(usize::MAX, |form| !form.is_bare);
        // Dialects that share a marker cannot be told apart by it.
        let is_same = self.share_marker.unwrap_or(|one, other| one == other);
        match (run.checked_sub(1).map(|run| self.runs[run].1), committed) {
            (Some(form), None) if form.is_bare && !self.has_words && is_last => Certainty::Likely,
            (Some(form), Some(committed)) if !form.is_bare && is_same(committed, form.format) => {
                match is_last {
                    true => Certainty::Sure,
                    false => Certainty::Likely,
                }
            }
            _ => Certainty::Doubtful,
        }
    }
}
