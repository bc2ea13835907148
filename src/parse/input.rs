//! The text that has arrived, as the readers see it. They wait for characters that have not arrived yet.
//!
//! Positions are bytes from the start of the whole text. Text before the read head is dropped, so memory is bounded by the
//! call being read. A reader holds no lock while it waits: [`ReadContext::wait`] looks, and either decides or waits
//! for the next delta. A look at the input has the bytes that are there now, and searches resume where they stopped.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::{Mutex, MutexGuard};

use super::buffer::{BufferState, MAX_RESCANS};
use super::extent::{ExtentScan, ValueExtent};
use super::lenient::Notation;
use super::options::ParseOptions;
use super::parsed::Draft;
use super::schemas::ToolSchemas;

/// What every reader works on: the input, the schemas of the tools, and the dialect that was asked for.
pub(super) struct ReadContext {
    pub input: Arc<Mutex<BufferState>>,
    pub tools: Arc<dyn ToolSchemas>,
    /// For the words of a message that is all of the text.
    pub options: ParseOptions,
    /// The requested dialect.
    pub asked: Option<&'static str>,
}

/// Where a marker starts, and the position after it.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub start: usize,
    pub after: usize,
}

/// What a reader found after a marker. One that found nothing has emitted nothing: it is not this dialect.
pub(super) enum Found {
    /// Text up to this position.
    Text(usize),
    /// A block with its calls, up to this position.
    Block(usize),
}

impl ReadContext {
    /// The state. It must not be locked while a reader waits, or twice.
    pub fn state(&self) -> MutexGuard<'_, BufferState> {
        self.input.lock()
    }

    pub fn is_known(&self, tool: &str) -> bool {
        self.tools.parameters(tool).is_some()
    }

    /// Calls `look` now and after every delta until it decides. It must decide once the text has ended.
    pub async fn wait<T>(&self, mut look: impl FnMut(&BufferState) -> Option<T>) -> T {
        poll_fn(move |_| match look(&self.state()) {
            Some(seen) => Poll::Ready(seen),
            None => Poll::Pending,
        })
        .await
    }

    /// As [`wait`](Self::wait), and releases the text before the position that `look` returns. If it `lets_pass`, deltas may
    /// [pass](BufferState::pass) while all of the text is released: it then begins later at the next look.
    pub async fn wait_releasing<T>(
        &self,
        lets_pass: bool,
        mut look: impl FnMut(&BufferState) -> (usize, Option<T>),
    ) -> T {
        poll_fn(move |_| {
            let state = &mut *self.state();
            let (release, seen) = look(state);
            state.release(release);
            state.is_idle = lets_pass && seen.is_none() && release == state.end() && !state.ended;
            match seen {
                Some(seen) => Poll::Ready(seen),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Where the value ends whose opening bracket is at `at`.
    pub async fn extent(&self, at: usize, notation: Notation, stops: &[&str]) -> ValueExtent {
        let mut scan = ExtentScan::new(at, notation, stops);
        self.wait(|view| scan.look(view)).await
    }

    /// The byte at `at`; `None` at the end of the text.
    pub async fn byte(&self, at: usize) -> Option<u8> {
        self.wait(|view| match view.from(at).first() {
            None if !view.ended => None,
            seen => Some(seen.copied()),
        })
        .await
    }

    /// The first position from `at` without white space, or the end.
    pub async fn skip_space(&self, at: usize) -> usize {
        self.skip(at, |byte| byte.is_ascii_whitespace()).await
    }

    /// The same within the line.
    pub async fn skip_blanks(&self, at: usize) -> usize {
        self.skip(at, |byte| matches!(byte, b' ' | b'\t')).await
    }

    /// The first position from `at` whose byte is not skipped, or the end.
    pub async fn skip(&self, at: usize, skipped: impl Fn(u8) -> bool) -> usize {
        self.skip_most(at, usize::MAX, skipped).await
    }

    /// The same, but at most so many bytes are skipped.
    pub async fn skip_most(&self, at: usize, most: usize, skipped: impl Fn(u8) -> bool) -> usize {
        let mut next = at;
        self.wait(|view| {
            let rest = view.from(next);
            let near = &rest[..rest.len().min(most - (next - at))];
            let found = near.iter().position(|byte| !skipped(*byte));
            next += found.unwrap_or(near.len());
            (found.is_some() || next - at == most || view.ended).then_some(next)
        })
        .await
    }

    /// As [`skip_space`](Self::skip_space), and releases the white space as text.
    pub async fn space_as_text(&self, at: usize) -> usize {
        let mut next = at;
        self.wait_releasing(false, |view| {
            let rest = view.from(next);
            let space = rest.len() - rest.trim_ascii_start().len();
            next += space;
            (next, (space < rest.len() || view.ended).then_some(next))
        })
        .await
    }

    /// The index of the first literal that the text at `at` starts with.
    pub async fn literal(&self, at: usize, literals: &[&str]) -> Option<usize> {
        self.wait(|view| {
            let rest = view.from(at);
            for (index, literal) in literals.iter().enumerate() {
                if rest.starts_with(literal.as_bytes()) {
                    return Some(Some(index));
                }
                if !view.ended && literal.as_bytes().starts_with(rest) {
                    return None;
                }
            }
            Some(None)
        })
        .await
    }

    /// True if the text at `at` starts with one of the literals.
    pub async fn has(&self, at: usize, literals: &[&str]) -> bool {
        self.literal(at, literals).await.is_some()
    }

    /// The position after the first literal that the text at `at` starts with.
    pub async fn after(&self, at: usize, literals: &[&str]) -> Option<usize> {
        self.literal(at, literals).await.map(|index| at + literals[index].len())
    }

    /// The same after white space.
    pub async fn after_space(&self, at: usize, literals: &[&str]) -> Option<usize> {
        self.after(self.skip_space(at).await, literals).await
    }

    /// The position of the first literal from `at` on, and its index.
    pub async fn find(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = LiteralSearch::new(at, literals);
        self.wait(|view| search.resume(view)).await
    }

    /// The position of the first literal from `at` on, or the end of the text.
    pub async fn find_or_end(&self, at: usize, literals: &[&str]) -> usize {
        self.find(at, literals).await.map_or_else(|| self.end_so_far(), |(found, _)| found)
    }

    /// Where the first of these ends, and the position after it; of the other ones, which begin something else, that is the same.
    pub async fn find_past(&self, at: usize, literals: &[&str]) -> (usize, usize) {
        match self.find(at, literals).await {
            Some((end, 0)) => (end, end + literals[0].len()),
            found => {
                let end = found.map_or_else(|| self.end_so_far(), |(end, _)| end);
                (end, end)
            }
        }
    }

    /// As [`find`](Self::find), and releases everything before the literal as text while it searches.
    pub async fn text_until(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = LiteralSearch::new(at, literals);
        self.wait_releasing(false, |view| {
            let seen = search.resume(view);
            (search.next, seen)
        })
        .await
    }

    /// The same as text; without such a literal, up to the end.
    pub async fn as_text_until(&self, at: usize, literals: &[&str]) -> Found {
        Found::Text(self.text_until(at, literals).await.map_or_else(|| self.end_so_far(), |(end, _)| end))
    }

    /// True if only white space is before `at`, which must be the head.
    pub fn is_first(&self, at: usize) -> bool {
        let state = self.state();
        state.base == 0 && state.calls.is_empty() && state.between(0, at).trim().is_empty()
    }

    /// The byte before `at`, which must not be before the head.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        self.state().byte_before(at)
    }

    /// Calls `use_it` with the text between two positions.
    pub fn with<T>(&self, from: usize, to: usize, use_it: impl FnOnce(&str) -> T) -> T {
        use_it(self.state().between(from, to))
    }

    pub fn slice(&self, from: usize, to: usize) -> String {
        self.with(from, to, str::to_owned)
    }

    /// The end of the text so far.
    pub fn end_so_far(&self) -> usize {
        self.state().end()
    }

    /// Adds calls that span from the head to `to`, which it returns.
    pub fn emit(&self, drafts: Vec<Draft>, to: usize) -> usize {
        self.state().emit(drafts, to);
        to
    }

    /// Extends the last call by the first of these tags if it follows, and returns its end.
    pub async fn close_with(&self, end: usize, tags: &[&str]) -> Option<usize> {
        let close = self.after_space(end, tags).await?;
        self.state().extend(close, None);
        Some(close)
    }

    /// As [`close_with`](Self::close_with); without a tag, the call lacks it.
    pub async fn close_or_repair(&self, end: usize, tags: &[&str]) -> usize {
        let close = self.after_space(end, tags).await;
        self.state().close(close.unwrap_or(end), close.is_some());
        close.unwrap_or(end)
    }

    /// Takes one of the rescans; `false` when none is left.
    pub fn take_rescan(&self) -> bool {
        let rescans = &mut self.state().rescans;
        *rescans += 1;
        *rescans <= MAX_RESCANS
    }
}

/// A search for the first of several literals.
pub(super) struct LiteralSearch<'a> {
    /// Everything before this position was searched.
    pub next: usize,
    literals: &'a [&'a str],
    /// The byte that all of them begin with, if it is the same one.
    first: Option<u8>,
    /// The bytes that a literal begins with.
    begins: [bool; 256],
}

impl<'a> LiteralSearch<'a> {
    pub fn new(from: usize, literals: &'a [&'a str]) -> Self {
        let mut begins = [false; 256];
        literals.iter().for_each(|literal| begins[usize::from(literal.as_bytes()[0])] = true);
        let first = literals.first().map(|literal| literal.as_bytes()[0]);
        let first = first.filter(|first| literals.iter().all(|literal| literal.as_bytes()[0] == *first));
        Self { next: from, literals, first, begins }
    }

    /// The position and index of the first literal, `Some(None)` if the text ended without one, `None` to wait.
    pub fn resume(&mut self, view: &BufferState) -> Option<Option<(usize, usize)>> {
        let rest = view.from(self.next);
        let mut from = 0;
        while let Some(found) = self.candidate(&rest[from..]) {
            let at = &rest[from + found..];
            for (index, literal) in self.literals.iter().enumerate() {
                if at.starts_with(literal.as_bytes()) {
                    self.next += from + found;
                    return Some(Some((self.next, index)));
                }
                if !view.ended && literal.as_bytes().starts_with(at) {
                    self.next += from + found;
                    return None;
                }
            }
            from += found + 1;
        }
        self.next = view.end();
        view.ended.then_some(None)
    }

    /// The next byte that one of the literals starts with.
    fn candidate(&self, bytes: &[u8]) -> Option<usize> {
        match self.first {
            Some(first) => memchr::memchr(first, bytes),
            None => bytes.iter().position(|byte| self.begins[usize::from(*byte)]),
        }
    }
}
