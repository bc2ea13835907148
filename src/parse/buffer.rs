//! The state that all readers share: the text, the read head, what was found before it, and what is still held back. Readers use
//! it through `input`.

use foldhash::HashSet;

use super::certainty::{CallForm, CallForms, FenceLine};
use super::lenient::SyntaxRepair;
use super::parsed::{Draft, Event, ParsedCall};

/// Longer indents do not count as indents.
const LONGEST_INDENT: usize = 64;
/// The most bytes of a line that are looked at before a mark.
const REACH: usize = 4096;
/// Drop what was read once it is this long: moving the rest of a shorter text costs more than it saves.
const KEPT: usize = 16 * 1024;

/// The state that the machine shares with the parser that feeds it: the text, the read head, and what was found before it.
#[derive(Default)]
pub(super) struct BufferState {
    /// What has arrived, from `base` on.
    pub arrived: String,
    /// The position of the first byte that is kept.
    pub base: usize,
    pub ended: bool,
    /// The read head: everything before it was released as text or belongs to a call.
    pub head: usize,
    /// Characters before the head.
    pub head_chars: usize,
    /// Some characters have more than one byte.
    pub is_wide: bool,
    pub events: Vec<Event>,
    /// Calls have no events: the text came whole.
    pub is_silent: bool,
    pub calls: Vec<ParsedCall>,
    pub forms: CallForms,
    /// That of the block that is being read. What stands in a block quote is as uncertain as a bare form.
    pub form: CallForm,
    /// The number of calls that can no longer grow by an end tag.
    pub settled: usize,
    /// The ids of the calls, and those that an API issued. One that was made is that of its place: see [`is_used`](Self::is_used).
    pub ids: HashSet<String>,
    /// An API issued the calls: each keeps its id, even if another call has the same, and its text.
    pub keeps_ids: bool,
    pub held: HeldCalls,
    /// The end of the last call.
    pub calls_end: usize,
    /// All of the text was released, and the machine waits for an opening.
    pub is_idle: bool,
    /// A call with a strong marker was found.
    pub is_strong: bool,
    /// The rest of the text has no calls.
    pub is_stopped: bool,
    /// A message has begun that says what it is.
    pub has_message: bool,
    /// The number of rescans so far.
    pub rescans: usize,
}

impl BufferState {
    /// For a text that is all there: nobody asks for the events of its calls.
    pub fn whole(text: String) -> Self {
        Self { is_wide: !text.is_ascii(), is_silent: true, arrived: text, ..Self::default() }
    }

    pub fn push(&mut self, delta: &str) {
        if self.ended {
            return;
        }
        let read = self.held.start().map_or(self.head, |start| start.head) - self.base;
        if read > KEPT && read > self.arrived.len() / 2 {
            self.drop_before(read - REACH);
        }
        self.arrived.push_str(delta);
        self.is_wide |= !delta.is_ascii();
        self.is_idle = false;
    }

    /// Lets a delta pass that is text to its end, if the machine waits for an opening: the caller releases it.
    pub fn pass(&mut self, delta: &str, is_text: impl FnOnce(&[u8]) -> bool) -> bool {
        let passes = self.is_idle && self.events.is_empty() && is_text(delta.as_bytes());
        if passes {
            if self.arrived.len() > KEPT {
                self.drop_before(self.arrived.len() - REACH);
            }
            self.arrived.push_str(delta);
            self.forms.pass(delta, self.calls.len());
            self.head += delta.len();
            self.head_chars += delta.chars().count();
        }
        passes
    }

    /// The text from a position on that is available now.
    pub fn from(&self, at: usize) -> &[u8] {
        self.arrived.as_bytes().get(at - self.base..).unwrap_or_default()
    }

    pub fn end(&self) -> usize {
        self.base + self.arrived.len()
    }

    /// The byte before `at`, which must not be before the head.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        self.arrived.as_bytes().get(at.checked_sub(self.base + 1)?).copied()
    }

    /// The number of bytes before `at`, which must not be before the head, on its line, if they are only an indent, or an indent
    /// and the mark of a list.
    pub fn indent(&self, at: usize) -> Option<usize> {
        let before = &self.arrived.as_bytes()[..at - self.base];
        let start = before.len().saturating_sub(LONGEST_INDENT);
        let line = match memchr::memrchr2(b'\n', b'\r', &before[start..]) {
            Some(end) => &before[start + end + 1..],
            None if start == 0 => before,
            None => return None,
        };
        let mark = line.trim_ascii_start();
        let is_blank = || list_mark(mark).is_some_and(|length| mark[length..].trim_ascii().is_empty());
        (mark.is_empty() || is_blank()).then_some(line.len())
    }

    /// True if a line begins at `at`.
    pub fn begins_line(&self, at: usize) -> bool {
        self.byte_before(at).is_none_or(|byte| byte == b'\n' || byte == b'\r')
    }

    pub fn between(&self, from: usize, to: usize) -> &str {
        self.arrived.get(from - self.base..to - self.base).unwrap_or_default()
    }

    pub fn emit(&mut self, drafts: impl IntoIterator<Item = Draft>, to: usize) {
        let Self { head, head_chars, settled, .. } = *self;
        let now =
            Checkpoint { head, head_chars, events: self.events.len(), calls: self.calls.len(), settled };
        self.held.before_call(now);
        self.advance(to);
        self.calls_end = to;
        self.settled = self.calls.len();
        let span = (head_chars, self.head_chars);
        // Without an end of its own, a damaged call has taken in what follows it: the calls before it may be quoted by words.
        let mut may_hold_words = false;
        let is_rest = self.ended && to == self.end();
        for mut draft in drafts {
            may_hold_words |= is_rest && draft.error.is_some();
            self.forms.note(self.calls.len(), self.form);
            if draft.error.is_some() && !self.keeps_ids {
                draft.raw = Some(self.between(head, to).to_owned());
            }
            self.add(draft, span);
        }
        if may_hold_words {
            self.forms.doubt(self.calls.len());
        }
    }

    /// The part of a line before `at` that is not farther than [`REACH`] and not part of a call.
    pub fn line_before(&self, at: usize) -> &[u8] {
        let from = self.calls_end.max(at.saturating_sub(REACH)).max(self.base);
        let before = self.arrived.as_bytes().get(from - self.base..at - self.base).unwrap_or_default();
        let line = memchr::memrchr2(b'\n', b'\r', before).map(|end| end + 1);
        &before[line.unwrap_or(0)..]
    }

    /// Drops about this many bytes of the text that has arrived. [`REACH`] bytes before the head are kept, so that a look at what is
    /// before it need not know what was dropped.
    fn drop_before(&mut self, count: usize) {
        let dropped = (0..=count).rev().find(|at| self.arrived.is_char_boundary(*at)).unwrap_or(0);
        self.arrived.drain(..dropped);
        self.base += dropped;
    }

    /// Discards what was found after a checkpoint: it is text, up to `to`.
    pub fn go_back(&mut self, checkpoint: Checkpoint, to: usize) {
        for call in self.calls.drain(checkpoint.calls..) {
            self.ids.remove(&call.id);
        }
        self.forms.truncate(checkpoint.calls);
        self.events.truncate(checkpoint.events);
        (self.head, self.head_chars) = (checkpoint.head, checkpoint.head_chars);
        self.settled = checkpoint.settled;
        self.release(to);
        // Without a call there was none with a strong marker.
        self.is_strong &= !self.calls.is_empty();
    }

    /// Releases the text up to `to`.
    pub fn release(&mut self, to: usize) {
        if to > self.head {
            let passed = self.arrived.get(self.head - self.base..to - self.base).unwrap_or_default();
            self.forms.pass(passed, self.calls.len());
        }
        self.release_unsaid(to);
    }

    /// As [`release`](Self::release), for text that says nothing.
    pub fn release_unsaid(&mut self, to: usize) {
        if to <= self.head {
            return;
        }
        let is_open = self.events.len() > self.held.closed_events();
        let text = self.arrived.get(self.head - self.base..to - self.base).unwrap_or_default();
        match self.events.last_mut().filter(|_| is_open) {
            Some(Event::Text { text: last }) => last.push_str(text),
            _ => self.events.push(Event::Text { text: text.to_owned() }),
        }
        self.advance(to);
    }

    pub fn advance(&mut self, to: usize) {
        if to > self.head {
            self.head_chars += match self.is_wide {
                true => self.between(self.head, to).chars().count(),
                false => to - self.head,
            };
            self.head = to;
        }
    }

    fn add(&mut self, mut call: Draft, span: (usize, usize)) {
        let index = self.calls.len();
        call.span = span;
        call.id_from_model = !call.id.is_empty() && (self.keeps_ids || !self.is_used(&call.id));
        if !call.id_from_model {
            if !call.id.is_empty() {
                call.repairs.add(SyntaxRepair::UsedId);
            }
            call.id = self.fresh_id(index);
        }
        if call.id_from_model || call.id.ends_with('_') {
            self.ids.insert(call.id.clone());
        }
        if !self.is_silent {
            match &call.error {
                Some(error) => self.events.push(Event::CallError { index, error: error.to_string() }),
                None => self.events.extend([
                    Event::CallStart { index, name: call.name.clone() },
                    Event::ArgsDelta {
                        index,
                        delta: serde_json::to_string(&call.arguments).unwrap_or_default(),
                    },
                    Event::CallEnd { index },
                ]),
            }
        }
        self.calls.push(call);
    }

    /// True if a call has this id.
    fn is_used(&self, id: &str) -> bool {
        let place = id.strip_prefix("call_").and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        let is_made = place.and_then(|place| self.calls.get(place)).is_some_and(|call| call.id == id);
        is_made || self.ids.contains(id)
    }

    /// An id for the call at `index` that no other call has so far: `call_1` and so on.
    fn fresh_id(&self, index: usize) -> String {
        let mut id = ["call_", itoa::Buffer::new().format(index + 1)].concat();
        while self.ids.contains(&id) {
            id.push('_');
        }
        id
    }
}

/// Maximum number of rescans after an unterminated value; each may rescan the remaining text.
pub(super) const MAX_RESCANS: usize = 24;

/// What the readers report: calls, and the text around them.
impl BufferState {
    pub fn take_events(&mut self) -> Vec<Event> {
        self.held.take_events(&mut self.events)
    }

    /// The calls from this index on that are certain, and the number of all calls that can no longer change.
    pub fn calls_from(&self, index: usize) -> (Vec<ParsedCall>, usize) {
        let mut calls = self.calls.get(index..self.shown()).unwrap_or_default().to_vec();
        if self.ended {
            self.forms.judge(&mut calls, index);
        }
        let settled = self.settled.min(index + calls.len());
        (calls, settled)
    }

    /// Takes the calls of a text that has ended.
    pub fn take_calls(&mut self) -> Vec<ParsedCall> {
        let mut calls = std::mem::take(&mut self.calls);
        self.forms.judge(&mut calls, 0);
        calls
    }

    /// Takes the text around the calls of a text that came whole.
    pub fn take_text(&mut self) -> String {
        let texts = self.take_events().into_iter().filter_map(|event| match event {
            Event::Text { text } => Some(text),
            _ => None,
        });
        texts.reduce(|all, next| all + &next).unwrap_or_default()
    }

    pub fn format(&self) -> Option<&'static str> {
        self.forms.format(self.shown())
    }

    /// The number of calls that are not held back.
    fn shown(&self) -> usize {
        self.held.start().map_or(self.calls.len(), |start| start.calls)
    }

    /// Begins a block at `at`, and returns the number of calls before it.
    pub fn begin_block(&mut self, at: usize, form: CallForm) -> usize {
        let is_bare = form.is_bare || self.line_before(at).trim_ascii_start().starts_with(b">");
        self.form = CallForm { is_bare, ..form };
        self.calls.len()
    }

    /// Adds the calls of a message whose ids an API issued. An id that is made here is none of theirs.
    pub fn emit_issued(&mut self, drafts: Vec<Draft>, format: &'static str) {
        self.keeps_ids = true;
        self.form.format = format;
        self.ids.extend(drafts.iter().filter(|draft| !draft.id.is_empty()).map(|draft| draft.id.clone()));
        self.emit(drafts, 0);
    }

    /// Extends the last call, and those that share its span, to `to`.
    pub fn extend(&mut self, to: usize, repair: Option<SyntaxRepair>) {
        let from = self.head;
        self.advance(to);
        self.calls_end = self.calls_end.max(to);
        let passed = self.arrived.get(from - self.base..self.head - self.base).unwrap_or_default();
        for call in &mut self.calls[self.settled..] {
            call.span.1 = self.head_chars;
            match (&mut call.raw, repair) {
                (Some(raw), _) => raw.push_str(passed),
                (None, Some(repair)) => call.repairs.add(repair),
                (None, None) => {}
            }
        }
    }

    /// Ends the last call at `to`, with its end tag or without.
    pub fn close(&mut self, to: usize, closed: bool) {
        self.extend(to, (!closed).then_some(SyntaxRepair::MissingEndTag));
    }

    /// Adds text that does not stand in the input as it is.
    pub fn emit_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(Event::Text { text: text.to_owned() });
        }
    }

    /// Releases the line of a fence, up to `to`.
    pub fn pass_fence(&mut self, line: FenceLine, to: usize) {
        match self.forms.pass_fence(line, self.calls.len()) {
            true => self.release_unsaid(to),
            false => self.release(to),
        }
    }

    /// All text up to `to` was only thought.
    pub fn end_reasoning(&mut self, to: usize) {
        self.release(to);
        if self.calls.is_empty() {
            self.forms.forget_words();
        }
    }

    /// Everything up to `to` was only thought: it is text, and nothing is known about the calls that follow. Another closing
    /// tag may follow, so calls are still held back.
    pub fn discard_until(&mut self, to: usize) {
        if let Some(checkpoint) = self.held.take_all() {
            self.go_back(checkpoint, to);
        }
        self.is_strong &= !self.calls.is_empty();
        self.is_stopped = false;
        self.rescans = 0;
    }

    /// Turns what was found since the opening tag of this closing tag into text, up to `to`; false if it has none.
    pub fn discard_expected(&mut self, close: &str, to: usize) -> bool {
        let Some(checkpoint) = self.held.close(close) else { return false };
        checkpoint.into_iter().for_each(|checkpoint| self.go_back(checkpoint, to));
        true
    }
}

/// The length of the mark of a list at the start of a line: `-`, `*`, `+`, `1.` or `1)`, and a space.
fn list_mark(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mark = match (digits, line.get(digits)?) {
        (0, b'-' | b'*' | b'+') | (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    matches!(line.get(mark), Some(b' ' | b'\t')).then_some(mark + 1)
}

// Calls that are held back until it is certain that they were not only thought of.
//
// A hold starts with a checkpoint. What is found after it stays inside: the events are not handed out and the calls are not
// shown. Either the hold ends, and all of it counts; or the closing tag of reasoning comes, and everything after the checkpoint
// becomes text.

/// The state to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub head: usize,
    pub head_chars: usize,
    pub events: usize,
    pub calls: usize,
    pub settled: usize,
}

/// What is held back, and why.
#[derive(Default)]
pub(super) struct HeldCalls {
    /// The text may have begun inside of reasoning.
    pub undecided: bool,
    /// Before the first call of a text that is undecided.
    pub first: Option<Checkpoint>,
    /// Opening tags that may open reasoning or be words about it, such as one in the middle of a line. At most one for each
    /// closing tag.
    pub expected: Vec<ExpectedTag>,
}

/// An opening tag that counts if its closing tag follows.
pub(super) struct ExpectedTag {
    pub close: &'static str,
    /// Before the first call after the opening tag; not before that of an earlier tag.
    pub since: Option<Checkpoint>,
}

impl HeldCalls {
    /// Notes the state before a call.
    pub fn before_call(&mut self, now: Checkpoint) {
        if self.undecided {
            self.first.get_or_insert(now);
        }
        self.expected.iter_mut().for_each(|tag| _ = tag.since.get_or_insert(now));
    }

    /// Notes an opening tag whose closing tag may follow.
    pub fn opened(&mut self, close: &'static str) {
        if self.expected.iter().all(|tag| tag.close != close) {
            self.expected.push(ExpectedTag { close, since: None });
        }
    }

    /// The checkpoint of an opening tag whose closing tag has come, which forgets what was opened inside; `None` if there is no
    /// such tag.
    pub fn close(&mut self, close: &str) -> Option<Option<Checkpoint>> {
        let index = self.expected.iter().position(|tag| tag.close == close)?;
        let since = self.expected.drain(index..).next()?.since;
        // The doubt may have come after the tag.
        self.first = self.first.filter(|first| since.is_none_or(|since| first.head <= since.head));
        Some(since)
    }

    /// All of it was only thought: returns the checkpoint before it. The doubt remains, and tags that were opened may still close.
    pub fn take_all(&mut self) -> Option<Checkpoint> {
        let start = self.start();
        self.first = None;
        self.expected.iter_mut().for_each(|tag| tag.since = None);
        start
    }

    fn since(&self) -> impl Iterator<Item = Checkpoint> {
        self.first.into_iter().chain(self.expected.iter().filter_map(|tag| tag.since))
    }

    /// Where the part begins that is held back.
    pub fn start(&self) -> Option<Checkpoint> {
        self.since().min_by_key(|since| since.head)
    }

    /// The number of events that no later text may be joined to.
    pub fn closed_events(&self) -> usize {
        self.since().map(|since| since.events).max().unwrap_or(0)
    }

    /// Takes the events that may be shown.
    pub fn take_events(&mut self, events: &mut Vec<Event>) -> Vec<Event> {
        let Some(start) = self.start() else { return std::mem::take(events) };
        // Most deltas add to what is held back, however long that is.
        if start.events == 0 {
            return Vec::new();
        }
        let kept = events.split_off(start.events);
        let expected = self.expected.iter_mut().filter_map(|tag| tag.since.as_mut());
        for checkpoint in self.first.iter_mut().chain(expected) {
            checkpoint.events -= start.events;
        }
        std::mem::replace(events, kept)
    }
}
