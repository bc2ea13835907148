//! What the readers report: calls, the text around them, what may be only thought, and what is known about the text.

use super::buffer::InputBuffer;
use super::certainty::FenceLine;
use super::held_calls::HeldCalls;
use super::parsed::{Event, ParsedCall};
use super::parsed_call::Draft;
use super::repair::SyntaxRepair;

/// Maximum number of rescans after an unterminated value; each may rescan the remaining text.
pub(super) const MAX_RESCANS: usize = 24;

/// What was found in a block.
pub(super) struct BlockSummary {
    pub has_calls: bool,
    /// One of the calls cannot be read.
    pub has_failed: bool,
    /// One of the calls had to be repaired.
    pub was_repaired: bool,
}

/// The calls and the text.
impl InputBuffer {
    pub fn take_events(&self) -> Vec<Event> {
        let state = &mut *self.0.lock();
        state.held.take_events(&mut state.events)
    }

    /// The calls from this index on that are certain, and the number of all calls that can no longer change.
    pub fn calls_from(&self, index: usize) -> (Vec<ParsedCall>, usize) {
        let state = self.0.lock();
        let shown = state.held.start().map_or(state.calls.len(), |start| start.calls);
        let mut calls = state.calls.get(index..shown).unwrap_or_default().to_vec();
        if state.ended {
            for (at, call) in calls.iter_mut().enumerate() {
                call.certainty = Some(state.forms.certainty(index + at));
            }
        }
        let settled = state.settled.min(index + calls.len());
        (calls, settled)
    }

    /// Takes the calls of a text that has ended.
    pub fn take_calls(&self) -> Vec<ParsedCall> {
        let state = &mut *self.0.lock();
        let mut calls = std::mem::take(&mut state.calls);
        for (index, call) in calls.iter_mut().enumerate() {
            call.certainty = Some(state.forms.certainty(index));
        }
        calls
    }

    /// Takes the text around the calls of a text that came whole.
    pub fn take_text(&self) -> String {
        let texts = self.take_events().into_iter().filter_map(|event| match event {
            Event::Text { text } => Some(text),
            _ => None,
        });
        texts.reduce(|all, next| all + &next).unwrap_or_default()
    }

    pub fn format(&self) -> Option<&'static str> {
        let state = self.0.lock();
        state.forms.format(state.held.start().map_or(state.calls.len(), |start| start.calls))
    }

    /// Tells which dialects have a marker in common.
    pub fn compare_markers(&self, share_marker: fn(&str, &str) -> bool) {
        self.0.lock().forms.share_marker = Some(share_marker);
    }

    /// Begins a block at `at`, and returns the number of calls before it. What a line of a block quote shows is as uncertain as a
    /// bare form.
    pub fn begin_block(&self, at: usize, is_bare: bool) -> usize {
        let state = &mut *self.0.lock();
        state.is_bare = is_bare || state.line_before(at).trim_ascii_start().starts_with(b">");
        state.calls.len()
    }

    /// Drops everything up to `to`, where a block ends that has begun with [`begin_block`](Self::begin_block), and tells what
    /// its calls are like: those from this index on.
    pub fn end_block(&self, to: usize, from: usize) -> BlockSummary {
        let state = &mut *self.0.lock();
        state.advance(to);
        let calls = state.calls.get(from..).unwrap_or_default();
        BlockSummary {
            has_calls: !calls.is_empty(),
            has_failed: calls.iter().any(|call| call.error.is_some()),
            was_repaired: calls.iter().any(|call| !call.repairs.is_empty()),
        }
    }

    /// Drops everything up to `to`: it is neither text nor part of a call.
    pub fn drop_to(&self, to: usize) {
        self.0.lock().advance(to);
    }

    /// Adds calls that span from the head to `to`.
    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) {
        let state = &mut *self.0.lock();
        let failed = drafts.iter().any(|draft| draft.error.is_some());
        let raw = failed.then(|| state.between(state.head, to).to_owned());
        state.emit(drafts, raw.as_deref(), to, format);
    }

    /// Adds the calls of a message whose ids an API issued. An id that is made here is none of theirs.
    pub fn emit_issued(&self, drafts: Vec<Draft>, format: &'static str) {
        let state = &mut *self.0.lock();
        state.keeps_ids = true;
        state.ids.extend(drafts.iter().filter_map(|draft| draft.id.clone()));
        state.emit(drafts, Some(""), 0, format);
    }

    /// Extends the last call, and those that share its span, to `to`.
    pub fn extend(&self, to: usize, repair: Option<SyntaxRepair>) {
        let state = &mut *self.0.lock();
        let from = state.head;
        state.advance(to);
        state.calls_end = state.calls_end.max(to);
        let passed = state.arrived.get(from - state.base..state.head - state.base).unwrap_or_default();
        for call in &mut state.calls[state.settled..] {
            call.span.1 = state.head_chars;
            match (&mut call.raw, repair.map(SyntaxRepair::name)) {
                (Some(raw), _) => raw.push_str(passed),
                (None, Some(name)) if !call.repairs.contains(&name) => call.repairs.push(name),
                _ => {}
            }
        }
    }

    /// Ends the last call at `to`, with its end tag or without.
    pub fn close(&self, to: usize, closed: bool) {
        self.extend(to, (!closed).then_some(SyntaxRepair::MissingEndTag));
    }

    /// Extends the last call by the first of these tags if it follows, and returns its end.
    pub async fn close_with(&self, end: usize, tags: &[&str]) -> Option<usize> {
        let close = self.after_space(end, tags).await?;
        self.extend(close, None);
        Some(close)
    }

    /// As [`close_with`](Self::close_with); without a tag, the call lacks it.
    pub async fn close_or_repair(&self, end: usize, tags: &[&str]) -> usize {
        if let Some(close) = self.close_with(end, tags).await {
            return close;
        }
        self.close(end, false);
        end
    }

    /// Adds text that does not stand in the input as it is.
    pub fn emit_text(&self, text: &str) {
        if !text.is_empty() {
            self.0.lock().events.push(Event::Text { text: text.to_owned() });
        }
    }

    /// Notes that words stand around the calls of a message.
    pub fn pass_words(&self, words: &str) {
        let state = &mut *self.0.lock();
        state.forms.pass(words, state.calls.len());
    }

    /// Notes that words may follow the calls so far.
    pub fn doubt_calls(&self) {
        let state = &mut *self.0.lock();
        state.forms.doubt(state.calls.len());
    }

    /// Releases the line of a fence, up to `to`.
    pub fn pass_fence(&self, line: FenceLine, to: usize) {
        let state = &mut *self.0.lock();
        match state.forms.pass_fence(line, state.calls.len()) {
            true => state.release_unsaid(to),
            false => state.release(to),
        }
    }
}

/// What is held back, because it may be only thought.
impl InputBuffer {
    /// Everything that was found counts.
    pub fn release_held(&self) {
        self.0.lock().held = HeldCalls::default();
    }

    /// Everything that was found counts, and what follows says itself whether it is reasoning; only a tag that was opened may
    /// still close.
    pub fn trust(&self) {
        let held = &mut self.0.lock().held;
        (held.undecided, held.first) = (false, None);
    }

    /// All text up to `to` was only thought.
    pub fn end_reasoning(&self, to: usize) {
        let state = &mut *self.0.lock();
        state.release(to);
        if state.calls.is_empty() {
            state.forms.forget_words();
        }
    }

    /// Everything up to `to` was only thought: it is text, and nothing is known about the calls that follow. Another closing
    /// tag may follow, so calls are still held back.
    pub fn discard_until(&self, to: usize) {
        let state = &mut *self.0.lock();
        if let Some(checkpoint) = state.held.take_all() {
            state.go_back(checkpoint, to);
        }
        state.is_strong &= !state.calls.is_empty();
        state.is_stopped = false;
        state.rescans = 0;
    }

    /// Holds calls back from here on, because this closing tag may follow.
    pub fn expect_closing(&self, close: &'static str) {
        self.0.lock().held.opened(close);
    }

    /// Turns what was found since the opening tag of this closing tag into text, up to `to`; false if it has none.
    pub fn discard_expected(&self, close: &str, to: usize) -> bool {
        let state = &mut *self.0.lock();
        let Some(checkpoint) = state.held.close(close) else { return false };
        checkpoint.into_iter().for_each(|checkpoint| state.go_back(checkpoint, to));
        true
    }
}

/// What is known about the text so far.
impl InputBuffer {
    /// Notes that a message begins which says what it is; true for the first one.
    pub fn begin_message(&self) -> bool {
        !std::mem::replace(&mut self.0.lock().has_message, true)
    }

    /// Takes one of the rescans; `false` when none is left.
    pub fn take_rescan(&self) -> bool {
        let rescans = &mut self.0.lock().rescans;
        *rescans += 1;
        *rescans <= MAX_RESCANS
    }
}
