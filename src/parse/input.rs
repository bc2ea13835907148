//! The text that has arrived, as the readers see it. They wait for characters that have not arrived yet.
//!
//! Positions are bytes from the start of the whole text. Text before the read head is dropped, so memory is bounded by the
//! call being read. A reader holds no lock while it waits: [`InputBuffer::wait`] looks, and either decides or waits
//! for the next delta. A look at the input has the bytes that are there now, and searches resume where they stopped.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::{Mutex, MutexGuard};

use super::buffer::{BufferState, InputBuffer, MAX_RESCANS, REACH};
use super::extent::{ExtentScan, ValueExtent};
use super::lenient::Notation;
use super::parsed::Draft;

/// Drop what was read once it is this long: moving the rest of a shorter text costs more than it saves.
const KEPT: usize = 16 * 1024;

impl InputBuffer {
    /// The state. It must not be locked while a reader waits, or twice.
    pub fn state(&self) -> MutexGuard<'_, BufferState> {
        self.0.lock()
    }

    /// For a text that is all there: nobody asks for the events of its calls.
    pub fn whole(text: String) -> Self {
        let mut state = BufferState::default();
        (state.is_wide, state.is_silent, state.arrived) = (!text.is_ascii(), true, text);
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn push(&self, delta: &str) {
        let state = &mut *self.0.lock();
        if state.ended {
            return;
        }
        let read = state.held.start().map_or(state.head, |start| start.head) - state.base;
        if read > KEPT && read > state.arrived.len() / 2 {
            state.drop_before(read - REACH);
        }
        state.arrived.push_str(delta);
        state.is_wide |= !delta.is_ascii();
        state.is_idle = false;
    }

    /// Lets a delta pass that is text to its end, if the machine waits for an opening: the caller releases it.
    pub fn pass(&self, delta: &str, is_text: impl FnOnce(&[u8]) -> bool) -> bool {
        let state = &mut *self.0.lock();
        let passes = state.is_idle && state.events.is_empty() && is_text(delta.as_bytes());
        if passes {
            if state.arrived.len() > KEPT {
                state.drop_before(state.arrived.len() - REACH);
            }
            state.arrived.push_str(delta);
            state.forms.pass(delta, state.calls.len());
            state.head += delta.len();
            state.head_chars += delta.chars().count();
        }
        passes
    }

    /// Calls `look` now and after every delta until it decides. It must decide once the text has ended.
    pub async fn wait<T>(&self, mut look: impl FnMut(&BufferState) -> Option<T>) -> T {
        poll_fn(move |_| match look(&self.0.lock()) {
            Some(seen) => Poll::Ready(seen),
            None => Poll::Pending,
        })
        .await
    }

    /// As [`wait`](Self::wait), and releases the text before the position that `look` returns. If it `lets_pass`, deltas may
    /// [pass](Self::pass) while all of the text is released: it then begins later at the next look.
    pub async fn wait_releasing<T>(
        &self,
        lets_pass: bool,
        mut look: impl FnMut(&BufferState) -> (usize, Option<T>),
    ) -> T {
        poll_fn(move |_| {
            let state = &mut *self.0.lock();
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

    /// True if only white space is before `at`, which must be the head.
    pub fn is_first(&self, at: usize) -> bool {
        let state = self.0.lock();
        state.base == 0 && state.calls.is_empty() && state.between(0, at).trim().is_empty()
    }

    /// True if a line begins at `at`, which must not be before the head.
    pub fn begins_line(&self, at: usize) -> bool {
        self.0.lock().begins_line(at)
    }

    /// The number of bytes before `at` on its line, if they are only an indent, or an indent and the mark of a list.
    pub fn indent(&self, at: usize) -> Option<usize> {
        self.0.lock().indent(at)
    }

    /// The byte before `at`, which must not be before the head.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        self.0.lock().byte_before(at)
    }

    /// Calls `use_it` with the part of the line before `at` that is not farther than [`REACH`] and not part of a call.
    pub fn with_line_before<T>(&self, at: usize, use_it: impl FnOnce(&[u8]) -> T) -> T {
        use_it(self.0.lock().line_before(at))
    }

    /// Calls `use_it` with the text between two positions.
    pub fn with<T>(&self, from: usize, to: usize, use_it: impl FnOnce(&str) -> T) -> T {
        use_it(self.0.lock().between(from, to))
    }

    pub fn slice(&self, from: usize, to: usize) -> String {
        self.with(from, to, str::to_owned)
    }

    /// The end of the text so far.
    pub fn end_so_far(&self) -> usize {
        self.0.lock().end()
    }

    /// Adds calls that span from the head to `to`, which it returns.
    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) -> usize {
        let state = &mut *self.0.lock();
        let failed = drafts.iter().any(|draft| draft.error.is_some());
        let raw = failed.then(|| state.between(state.head, to).to_owned());
        state.emit(drafts, raw.as_deref(), to, format);
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
        let rescans = &mut self.0.lock().rescans;
        *rescans += 1;
        *rescans <= MAX_RESCANS
    }
}

/// A set of bytes.
#[derive(Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub fn add(&mut self, byte: u8) {
        self.0[byte as usize / 64] |= 1 << (byte % 64);
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] & (1 << (byte % 64)) != 0
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
    begins: ByteSet,
}

impl<'a> LiteralSearch<'a> {
    pub fn new(from: usize, literals: &'a [&'a str]) -> Self {
        let mut begins = ByteSet::default();
        literals.iter().for_each(|literal| begins.add(literal.as_bytes()[0]));
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
            None => bytes.iter().position(|byte| self.begins.has(*byte)),
        }
    }
}
