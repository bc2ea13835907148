//! The state behind the input: the text that is there, the read head, and what was found before it.

use foldhash::HashSet;

use super::certainty::{CallForm, CallForms};
use super::draft::Draft;
use super::found::{FoundCall, LONGEST_PLACED, TextPiece, WholeText, made_id};
use super::hold::{Checkpoint, Hold, QuotedBlock};
use super::parsed::{Event, ParsedCall};
use super::quote::{OpenQuote, REACH};
use super::repair::SyntaxRepair;
use super::view::InputView;

#[derive(Default)]
pub(super) struct BufferState {
    /// What has arrived, from `base` on. Not used for a whole text.
    pub arrived: String,
    /// All of the text. Then there are no events: the calls and `around` tell all.
    pub whole: Option<WholeText>,
    /// The position of the first byte that is kept.
    pub base: usize,
    pub ended: bool,
    /// The read head: everything before it was released as text or belongs to a call.
    pub head: usize,
    /// Characters before the head.
    pub head_chars: usize,
    /// Some characters have more than one byte.
    pub is_wide: bool,
    /// The byte before `base`.
    pub last: Option<u8>,
    pub events: Vec<Event>,
    /// The text around the calls of a whole text.
    pub around: Vec<TextPiece>,
    pub calls: Vec<FoundCall>,
    pub forms: CallForms,
    /// The block that is being read has no marker.
    pub is_bare: bool,
    /// The number of calls that can no longer grow by an end tag.
    pub settled: usize,
    /// The ids that were given. Those that are made here are in the calls.
    pub ids: HashSet<String>,
    /// An API issued the ids: each call keeps its own, even if another call has the same.
    pub keeps_ids: bool,
    pub hold: Hold,
    /// Where the block begins that is being read, until its first call.
    pub opening: Option<usize>,
    /// Quotations are looked for from here on: behind the last call.
    pub quotes_from: usize,
    /// All of the text was released, and the machine waits for an opening.
    pub is_idle: bool,
}

impl BufferState {
    /// The text from `base` on.
    pub fn text(&self) -> &str {
        self.whole.as_ref().map_or(&self.arrived, WholeText::as_str)
    }

    pub fn view(&self) -> InputView<'_> {
        InputView { bytes: self.text().as_bytes(), base: self.base, ended: self.ended }
    }

    pub fn between(&self, from: usize, to: usize) -> &str {
        self.text().get(from - self.base..to - self.base).unwrap_or_default()
    }

    pub fn emit(
        &mut self,
        drafts: impl IntoIterator<Item = Draft>,
        raw: Option<&str>,
        to: usize,
        format: &'static str,
    ) {
        let span = self.begin_calls(to);
        for draft in drafts {
            let form = if self.is_bare { CallForm::Bare(format) } else { CallForm::Marked(format) };
            self.forms.note(self.calls.len(), form);
            self.add(draft, span, raw);
        }
    }

    /// Settles the calls so far, moves the head to `to`, and returns the span of the calls up to there.
    pub fn begin_calls(&mut self, to: usize) -> (usize, usize) {
        let now = self.checkpoint();
        self.hold.before_call(now);
        if let Some(quote) = self.opening.take().and_then(|at| self.quote_before(at)) {
            self.hold.quoted = Some(QuotedBlock { before: now, quote, from: self.quotes_from });
        }
        let from = self.head_chars;
        self.advance(to);
        self.quotes_from = to;
        self.settled = self.calls.len();
        (from, self.head_chars)
    }

    /// The quotation that is open at `at`.
    pub fn quote_before(&self, at: usize) -> Option<OpenQuote> {
        let (line, begins) = self.line_before(at);
        OpenQuote::before(line, begins)
    }

    /// The part of a line before `at` that is not farther than [`REACH`] and not part of a call, and whether it begins the line.
    pub fn line_before(&self, at: usize) -> (&[u8], bool) {
        let from = self.quotes_from.max(at.saturating_sub(REACH)).max(self.base);
        let before = self.text().as_bytes().get(from - self.base..at - self.base).unwrap_or_default();
        let line = memchr::memrchr2(b'\n', b'\r', before).map(|end| end + 1);
        (&before[line.unwrap_or(0)..], line.is_some() || from == 0)
    }

    /// Drops about this many bytes of the text that has arrived.
    pub fn drop_before(&mut self, count: usize) {
        let dropped = (0..=count).rev().find(|at| self.arrived.is_char_boundary(*at)).unwrap_or(0);
        self.last = dropped.checked_sub(1).map(|last| self.arrived.as_bytes()[last]).or(self.last);
        self.arrived.drain(..dropped);
        self.base += dropped;
    }

    fn checkpoint(&self) -> Checkpoint {
        let Self { head, head_chars, settled, .. } = *self;
        Checkpoint { head, head_chars, events: self.count_events(), calls: self.calls.len(), settled }
    }

    /// The number of events, or of the pieces of text that a whole text has in their place.
    fn count_events(&self) -> usize {
        self.events.len() + self.around.len()
    }

    /// Forgets what was found after a checkpoint: it is text, up to `to`.
    pub fn go_back(&mut self, checkpoint: Checkpoint, to: usize) {
        for call in self.calls.drain(checkpoint.calls..) {
            // The others have an id that was made here.
            call.made().map(|call| self.ids.remove(&call.id));
        }
        self.forms.truncate(checkpoint.calls);
        self.events.truncate(checkpoint.events);
        self.around.truncate(checkpoint.events);
        (self.head, self.head_chars) = (checkpoint.head, checkpoint.head_chars);
        self.settled = checkpoint.settled;
        self.release(to);
    }

    pub fn release(&mut self, to: usize) {
        if to > self.head && !self.forms.has_words_after(self.calls.len()) {
            let Self { forms, whole, arrived, .. } = self;
            let text = whole.as_ref().map_or(arrived.as_str(), WholeText::as_str);
            let passed = text.get(self.head - self.base..to - self.base).unwrap_or_default();
            forms.pass(passed, self.calls.len());
        }
        self.release_unsaid(to);
    }

    /// As [`release`](Self::release), for text that says nothing.
    pub fn release_unsaid(&mut self, to: usize) {
        if to <= self.head {
            return;
        }
        let is_open = self.count_events() > self.hold.closed_events();
        if self.whole.is_some() {
            match self.around.last_mut().filter(|_| is_open) {
                Some(TextPiece::Input(range)) if range.end == self.head => range.end = to,
                _ => self.around.push(TextPiece::Input(self.head..to)),
            }
        } else {
            let text = self.arrived.get(self.head - self.base..to - self.base).unwrap_or_default();
            match self.events.last_mut().filter(|_| is_open) {
                Some(Event::Text { text: last }) => last.push_str(text),
                _ => self.events.push(Event::Text { text: text.to_owned() }),
            }
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

    pub fn add(&mut self, draft: Draft, span: (usize, usize), raw: Option<&str>) {
        let index = self.calls.len();
        let Draft { name, arguments, id, source, mut repairs, error, is_custom } = draft;
        let given = id.is_some();
        let own = id.filter(|id| self.keeps_ids || !self.is_used(id));
        let id_from_model = own.is_some();
        if given && !id_from_model {
            repairs.add(SyntaxRepair::UsedId);
        }
        if let Some(own) = &own {
            self.ids.insert(own.clone());
        }
        let id = own.unwrap_or_else(|| self.fresh_id(index));
        if self.whole.is_none() {
            match &error {
                Some(error) => self.events.push(Event::CallError { index, error: error.clone() }),
                None => self.events.extend([
                    Event::CallStart { index, name: name.clone() },
                    Event::ArgsDelta { index, delta: serde_json::to_string(&arguments).unwrap_or_default() },
                    Event::CallEnd { index },
                ]),
            }
        }
        let raw = error.is_some().then(|| raw.unwrap_or_default().to_owned());
        let repairs = repairs.names();
        self.push(FoundCall::Made(Box::new(ParsedCall {
            name,
            arguments,
            id,
            id_from_model,
            is_custom,
            source,
            span,
            repairs,
            error,
            raw,
            ..ParsedCall::default()
        })));
    }

    /// True if the next call may stay where it stands in the text: the text is whole, and no call has the id of its number.
    pub fn can_place(&self) -> bool {
        let is_free = || self.ids.is_empty() || !self.ids.contains(&made_id(self.calls.len()));
        self.whole.as_ref().is_some_and(|whole| whole.as_str().len() <= LONGEST_PLACED) && is_free()
    }

    pub fn push(&mut self, call: FoundCall) {
        if self.calls.is_empty() && self.whole.is_some() {
            // All of the text is here: as many calls as this one fit into the rest of it.
            self.calls.reserve(1 + self.text().len() / self.head.max(1));
        }
        self.calls.push(call);
    }

    /// True if another call has this id.
    pub fn is_used(&self, id: &str) -> bool {
        self.ids.contains(id) || self.is_made(id)
    }

    /// True if a call has this id because it was made for it: `call_` and the number of the call.
    fn is_made(&self, id: &str) -> bool {
        let number =
            id.strip_prefix("call_").and_then(|rest| rest.trim_end_matches('_').parse::<usize>().ok());
        let Some(index) = number.and_then(|number| number.checked_sub(1)) else { return false };
        self.calls.get(index).is_some_and(|call| match call.made() {
            Some(call) => call.id == id && !call.id_from_model,
            None => made_id(index) == id,
        })
    }

    /// An id for the call at `index` that no other call has so far.
    fn fresh_id(&self, index: usize) -> String {
        let mut id = made_id(index);
        while self.ids.contains(&id) {
            id.push('_');
        }
        id
    }
}
