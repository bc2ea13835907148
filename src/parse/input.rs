//! The text that has arrived, and the calls and events found in it.
//!
//! Positions are bytes from the start of the whole text. Text behind the read head is dropped, so memory is bounded by the
//! call being read. A reader holds no lock while it waits: [`InputBuffer::wait`] looks, and either decides or waits
//! for the next delta.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;

use super::buffer::BufferState;
use super::certainty::{CallForm, CallForms, FenceLine};
use super::draft::Draft;
use super::fast_call::FastCall;
use super::found::{FoundCall, PlacedCall, TextPiece, WholeText};
use super::hold::Hold;
use super::parsed::{Event, ParsedCall};
use super::quote::{OpenQuote, REACH};
use super::repair::{Repairs, SyntaxRepair};
use super::view::{ByteBefore, InputView, LiteralSearch};

/// Drop what was read once it is this long: moving the rest of a shorter text costs more than it saves.
const KEPT: usize = 16 * 1024;

#[derive(Clone, Default)]
pub(super) struct InputBuffer(Arc<Mutex<BufferState>>);

/// What was found in a block.
pub(super) struct BlockSummary {
    pub has_calls: bool,
    /// One of the calls cannot be read.
    pub has_failed: bool,
    /// One of the calls had to be repaired.
    pub was_repaired: bool,
    /// All of it may have been only thought.
    pub is_undecided: bool,
}

impl InputBuffer {
    /// For a text that is all there, and stays where it is.
    pub fn whole(text: WholeText) -> Self {
        let is_wide = !text.is_ascii();
        Self(Arc::new(Mutex::new(BufferState { whole: Some(text), is_wide, ..BufferState::default() })))
    }

    /// Tells which dialects have a marker in common.
    pub fn compare_markers(&self, share_marker: fn(&str, &str) -> bool) {
        self.0.lock().forms.share_marker = Some(share_marker);
    }

    pub fn push(&self, delta: &str) {
        let inner = &mut *self.0.lock();
        if inner.ended {
            return;
        }
        let read = inner.hold.start().map_or(inner.head, |start| start.head) - inner.base;
        if read > KEPT && read > inner.arrived.len() / 2 {
            inner.drop_before(read - REACH);
        }
        inner.arrived.push_str(delta);
        inner.is_wide |= !delta.is_ascii();
        inner.is_idle = false;
    }

    /// Lets a delta pass that is text to its end, if the machine waits for an opening: the caller releases it.
    pub fn pass(&self, delta: &str, is_text: impl FnOnce(&[u8]) -> bool) -> bool {
        let inner = &mut *self.0.lock();
        let passes = inner.is_idle && inner.events.is_empty() && is_text(delta.as_bytes());
        if passes {
            if inner.arrived.len() > KEPT {
                inner.drop_before(inner.arrived.len() - REACH);
            }
            inner.arrived.push_str(delta);
            if !inner.forms.has_words_after(inner.calls.len()) {
                inner.forms.pass(delta, inner.calls.len());
            }
            inner.head += delta.len();
            inner.head_chars += delta.chars().count();
        }
        passes
    }

    pub fn end(&self) {
        self.0.lock().ended = true;
    }

    pub fn take_events(&self) -> Vec<Event> {
        let inner = &mut *self.0.lock();
        inner.hold.take_events(&mut inner.events)
    }

    /// The calls from this index on that are certain, and the number of all calls that can no longer change.
    pub fn calls_from(&self, index: usize) -> (Vec<ParsedCall>, usize) {
        let inner = self.0.lock();
        let calls = inner.hold.visible(&inner.calls, index);
        // A text that arrives in deltas has no calls that stay in it.
        let mut calls: Vec<_> = calls.iter().filter_map(FoundCall::made).cloned().collect();
        if inner.ended {
            for (at, call) in calls.iter_mut().enumerate() {
                call.certainty = Some(inner.forms.certainty(index + at));
            }
        }
        let settled = inner.settled.min(index + calls.len());
        (calls, settled)
    }

    pub fn take_calls(&self) -> Vec<ParsedCall> {
        let inner = &mut *self.0.lock();
        let calls = std::mem::take(&mut inner.calls).into_iter().enumerate();
        let parsed = calls.map(|(index, call)| ParsedCall {
            certainty: Some(inner.forms.certainty(index)),
            ..call.into_parsed(inner.text(), index)
        });
        parsed.collect()
    }

    /// Takes all that was found in a whole text: its calls and the text around them.
    pub fn take_found(&self) -> (Vec<FoundCall>, Vec<TextPiece>, CallForms) {
        let inner = &mut *self.0.lock();
        let (calls, around) = (std::mem::take(&mut inner.calls), std::mem::take(&mut inner.around));
        (calls, around, std::mem::take(&mut inner.forms))
    }

    pub fn held(&self) -> usize {
        self.0.lock().text().len()
    }

    /// Begins a block, which may be only quoted if its opening is given, and returns the number of calls before it.
    pub fn begin_block(&self, opening: Option<usize>, is_bare: bool) -> usize {
        let inner = &mut *self.0.lock();
        (inner.opening, inner.is_bare) = (opening, is_bare);
        inner.calls.len()
    }

    /// The quotation that was open before the block whose calls are held back.
    pub fn quote(&self) -> Option<OpenQuote> {
        self.0.lock().hold.quoted.map(|block| block.quote)
    }

    /// The calls of the block count.
    pub fn settle_quoted(&self) {
        self.0.lock().hold.quoted = None;
    }

    /// The calls of the block were only quoted: it is text, and so is everything up to `to`.
    pub fn revoke_quoted(&self, to: usize) {
        let inner = &mut *self.0.lock();
        if let Some(block) = inner.hold.take_quoted() {
            inner.go_back(block.before, to);
            inner.quotes_from = if block.quote == OpenQuote::Block { block.from } else { to };
        }
    }

    pub fn count_calls(&self) -> usize {
        self.0.lock().calls.len()
    }

    /// Drops everything up to `to`, where a block ends that has begun with [`begin_block`](Self::begin_block), and tells what its calls are like: those from this index on.
    pub fn end_block(&self, to: usize, from: usize) -> BlockSummary {
        let inner = &mut *self.0.lock();
        // A mark without a call is dropped, but not out of a quotation.
        match inner.opening.take() {
            Some(at) if inner.calls.len() == from && inner.quote_before(at).is_some() => inner.release(to),
            _ => inner.advance(to),
        }
        let calls = inner.calls.get(from..).unwrap_or_default();
        BlockSummary {
            has_calls: !calls.is_empty(),
            has_failed: calls.iter().filter_map(FoundCall::made).any(|call| call.error.is_some()),
            was_repaired: calls.iter().filter_map(FoundCall::made).any(|call| !call.repairs.is_empty()),
            is_undecided: inner.hold.undecided,
        }
    }

    pub fn format(&self) -> Option<&'static str> {
        let inner = self.0.lock();
        inner.forms.format(inner.hold.start().map_or(inner.calls.len(), |start| start.calls))
    }

    /// Holds calls back from now on, until [`decide`](Self::decide).
    pub fn doubt(&self) {
        self.0.lock().hold.undecided = true;
    }

    /// All text up to `to` was only thought.
    pub fn end_reasoning(&self, to: usize) {
        let inner = &mut *self.0.lock();
        inner.release(to);
        if inner.calls.is_empty() {
            inner.forms.forget_words();
        }
    }

    pub fn is_undecided(&self) -> bool {
        self.0.lock().hold.undecided
    }

    /// Everything that was found counts.
    pub fn decide(&self) {
        self.0.lock().hold = Hold::default();
    }

    /// Everything that was found counts, and what follows says itself whether it is reasoning; only a tag that was opened may
    /// still close.
    pub fn trust(&self) {
        let hold = &mut self.0.lock().hold;
        (hold.undecided, hold.first) = (false, None);
    }

    /// Holds calls back from here on, because this closing tag may follow.
    pub fn expect_closing(&self, close: &'static str) {
        self.0.lock().hold.opened(close);
    }

    /// Turns what was found since the opening tag of this closing tag into text, up to `to`; false if it has none.
    pub fn revoke_expected(&self, close: &str, to: usize) -> bool {
        let inner = &mut *self.0.lock();
        let Some(checkpoint) = inner.hold.close(close) else { return false };
        checkpoint.into_iter().for_each(|checkpoint| inner.go_back(checkpoint, to));
        true
    }

    /// Turns everything that is held back into text, up to `to`. The doubt remains: another closing tag may follow.
    pub fn revoke(&self, to: usize) {
        let inner = &mut *self.0.lock();
        if let Some(checkpoint) = inner.hold.take_all() {
            inner.go_back(checkpoint, to);
        }
    }

    /// Calls `look` now and after every delta until it decides. It must decide once the text has ended.
    pub async fn wait<T>(&self, mut look: impl FnMut(InputView<'_>) -> Option<T>) -> T {
        poll_fn(move |_| match look(self.0.lock().view()) {
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
        mut look: impl FnMut(InputView<'_>, ByteBefore) -> (usize, Option<T>),
    ) -> T {
        poll_fn(move |_| {
            let inner = &mut *self.0.lock();
            let (release, seen) = look(inner.view(), ByteBefore { at_base: inner.last, head: inner.head });
            inner.release(release);
            inner.is_idle = lets_pass && seen.is_none() && release == inner.view().end() && !inner.ended;
            match seen {
                Some(seen) => Poll::Ready(seen),
                None => Poll::Pending,
            }
        })
        .await
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

    /// The first position from `at` whose byte is not skipped, or the end.
    pub async fn skip(&self, at: usize, skipped: impl Fn(u8) -> bool) -> usize {
        let mut next = at;
        self.wait(|view| {
            let rest = view.from(next);
            match rest.iter().position(|byte| !skipped(*byte)) {
                Some(found) => Some(next + found),
                None => {
                    next += rest.len();
                    view.ended.then_some(next)
                }
            }
        })
        .await
    }

    /// As [`skip_space`](Self::skip_space), and releases the white space as text.
    pub async fn space_as_text(&self, at: usize) -> usize {
        let mut next = at;
        self.wait_releasing(false, |view, _| {
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

    /// The position of the first literal from `at` on, and its index.
    pub async fn find(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = LiteralSearch { next: at, literals };
        self.wait(|view| search.resume(&view)).await
    }

    /// As [`find`](Self::find), and releases everything before the literal as text while it searches.
    pub async fn text_until(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = LiteralSearch { next: at, literals };
        self.wait_releasing(false, |view, _| {
            let seen = search.resume(&view);
            (search.next, seen)
        })
        .await
    }

    /// True if only white space is before `at`, which must be the head.
    pub fn is_first(&self, at: usize) -> bool {
        let inner = self.0.lock();
        inner.base == 0 && inner.calls.is_empty() && inner.between(0, at).trim().is_empty()
    }

    /// True if a line begins at `at`, which must not be before the head.
    pub fn begins_line(&self, at: usize) -> bool {
        let inner = self.0.lock();
        ByteBefore { at_base: inner.last, head: inner.head }.begins_line(&inner.view(), at)
    }

    /// The number of bytes before `at` on its line, if they are only an indent, or an indent and the mark of a list.
    pub fn indent(&self, at: usize) -> Option<usize> {
        let inner = self.0.lock();
        ByteBefore { at_base: inner.last, head: inner.head }.indent(&inner.view(), at)
    }

    /// Calls `use_it` with the part of the line before `at` that is not farther than [`REACH`] and not part of a call.
    pub fn with_line_before<T>(&self, at: usize, use_it: impl FnOnce(&[u8]) -> T) -> T {
        use_it(self.0.lock().line_before(at).0)
    }

    /// The rest of the line from `at` on, no longer than [`REACH`].
    pub async fn rest_of_line(&self, at: usize) -> Vec<u8> {
        self.wait(|view| {
            let rest = view.from(at);
            let rest = &rest[..rest.len().min(REACH)];
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let is_all = end.is_some() || rest.len() == REACH || view.ended;
            is_all.then(|| rest[..end.unwrap_or(rest.len())].to_vec())
        })
        .await
    }

    /// The byte before `at`, which must not be before the head.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        let inner = self.0.lock();
        ByteBefore { at_base: inner.last, head: inner.head }.byte(&inner.view(), at)
    }

    /// Calls `use_it` with the text between two positions.
    pub fn with<T>(&self, from: usize, to: usize, use_it: impl FnOnce(&str) -> T) -> T {
        let inner = self.0.lock();
        use_it(inner.between(from, to))
    }

    pub fn slice(&self, from: usize, to: usize) -> String {
        self.with(from, to, str::to_owned)
    }

    /// The end of the text so far.
    pub fn end_so_far(&self) -> usize {
        self.0.lock().view().end()
    }

    /// Drops everything up to `to`: it is neither text nor part of a call.
    pub fn drop_to(&self, to: usize) {
        self.0.lock().advance(to);
    }

    /// Adds the calls of a message whose ids an API issued. An id that is made here is none of theirs.
    pub fn emit_issued(&self, drafts: Vec<Draft>, format: &'static str) {
        let inner = &mut *self.0.lock();
        inner.keeps_ids = true;
        inner.ids.extend(drafts.iter().filter_map(|draft| draft.id.clone()));
        inner.emit(drafts, Some(""), 0, format);
    }

    /// Notes that words stand around the calls of a message.
    pub fn pass_words(&self, words: &str) {
        let inner = &mut *self.0.lock();
        inner.forms.pass(words, inner.calls.len());
    }

    /// Releases the line of a fence, up to `to`.
    pub fn pass_fence(&self, line: FenceLine, to: usize) {
        let inner = &mut *self.0.lock();
        match inner.forms.pass_fence(line, inner.calls.len()) {
            true => inner.release_unsaid(to),
            false => inner.release(to),
        }
    }

    /// Adds text that does not stand in the input as it is.
    pub fn say(&self, text: &str) {
        let inner = &mut *self.0.lock();
        match inner.whole {
            _ if text.is_empty() => {}
            Some(_) => inner.around.push(TextPiece::Said(text.to_owned())),
            None => inner.events.push(Event::Text { text: text.to_owned() }),
        }
    }

    /// Adds calls that span from the head to `to`.
    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) {
        let inner = &mut *self.0.lock();
        let failed = drafts.iter().any(|draft| draft.error.is_some());
        let raw = failed.then(|| inner.between(inner.head, to).to_owned());
        inner.emit(drafts, raw.as_deref(), to, format);
    }

    /// Calls `look` once with the text from `at` on, behind the opening of a block. If it returns a whole call that needs no repair,
    /// adds that call, and returns the position after it and whether it may be only quoted.
    pub fn take(
        &self,
        opening: usize,
        at: usize,
        format: &'static str,
        look: impl FnOnce(&str) -> Option<(FastCall<'_>, usize)>,
    ) -> Option<(usize, bool)> {
        let inner = &mut *self.0.lock();
        let (call, length) = look(inner.between(at, inner.view().end()))?;
        if call.id().is_some_and(|id| inner.is_used(id)) {
            return None;
        }
        let places = if inner.can_place() { call.places() } else { None };
        let draft = if places.is_some() { None } else { Some(call.draft(Repairs::default())?) };
        inner.opening = Some(opening);
        let span = inner.begin_calls(at + length);
        inner.forms.note(inner.calls.len(), CallForm::Marked(format));
        places
            .into_iter()
            .for_each(|places| inner.push(FoundCall::Placed(PlacedCall::new(places, at, span))));
        draft.into_iter().for_each(|draft| inner.add(draft, span, None));
        Some((at + length, inner.hold.quoted.is_some()))
    }

    /// Extends the last call, and those that share its span, to `to`.
    pub fn extend(&self, to: usize, repair: Option<SyntaxRepair>) {
        let inner = &mut *self.0.lock();
        let from = inner.head;
        inner.advance(to);
        inner.quotes_from = inner.quotes_from.max(to);
        let mut calls = std::mem::take(&mut inner.calls);
        let (settled, end) = (inner.settled, inner.head_chars);
        let (text, passed) = (inner.text(), inner.between(from, inner.head));
        for (index, call) in calls.iter_mut().enumerate().skip(settled) {
            call.change(text, index, |call| {
                call.span.1 = end;
                match &mut call.raw {
                    Some(raw) => raw.push_str(passed),
                    None => {
                        let names =
                            repair.map(SyntaxRepair::name).filter(|name| !call.repairs.contains(name));
                        call.repairs.extend(names);
                    }
                }
            });
        }
        inner.calls = calls;
    }
}
