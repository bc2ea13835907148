//! The text so far, and what came out of it.
//!
//! Positions are bytes from the start of the whole text. What is behind the read head is forgotten, so that the
//! memory is that of the call under way. A reader holds no lock while it waits: [`Tape::wait`] looks, and either
//! decides or waits for the next delta.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use foldhash::HashSet;
use parking_lot::Mutex;

use super::Event;
use super::draft::Draft;
use super::found::{Failure, FoundCall, Id};
use super::lenient::Repair;

/// Forget what was read once it is so long; moving the rest costs more often than it is worth below.
const KEPT: usize = 16 * 1024;

#[derive(Clone, Default)]
pub(super) struct Tape(Arc<Mutex<Inner>>);

#[derive(Default)]
pub(super) struct Inner {
    text: String,
    /// The position of the first byte of `text`.
    base: usize,
    ended: bool,
    /// The read head: all before it is text that was released or belongs to a call.
    head: usize,
    /// Characters before the head.
    head_chars: usize,
    /// The byte before `base`.
    last: Option<u8>,
    silent: bool,
    events: Vec<Event>,
    calls: Vec<FoundCall>,
    /// So many of the calls can no longer grow by their end tag.
    settled: usize,
    ids: HashSet<String>,
    format: Option<&'static str>,
}

/// What can be seen of the text now.
pub(super) struct View<'a> {
    bytes: &'a [u8],
    base: usize,
    pub ended: bool,
}

impl<'a> View<'a> {
    pub fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at - self.base..).unwrap_or_default()
    }

    pub fn end(&self) -> usize {
        self.base + self.bytes.len()
    }
}

impl Tape {
    pub fn push(&self, delta: &str) {
        let inner = &mut *self.0.lock();
        if inner.ended {
            return;
        }
        let read = inner.head - inner.base;
        if read > KEPT && read > inner.text.len() / 2 {
            inner.last = inner.text.as_bytes().get(read - 1).copied();
            inner.text.drain(..read);
            inner.base = inner.head;
        }
        inner.text.push_str(delta);
    }

    pub fn end(&self) {
        self.0.lock().ended = true;
    }

    pub fn be_silent(&self) {
        self.0.lock().silent = true;
    }

    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().events)
    }

    /// The calls from the one with this index on, and how many of all can no longer change.
    pub fn calls_from(&self, index: usize) -> (Vec<FoundCall>, usize) {
        let inner = self.0.lock();
        (inner.calls.get(index..).unwrap_or_default().to_vec(), inner.settled)
    }

    pub fn take_calls(&self) -> Vec<FoundCall> {
        std::mem::take(&mut self.0.lock().calls)
    }

    pub fn held(&self) -> usize {
        self.0.lock().text.len()
    }

    pub fn count_calls(&self) -> usize {
        self.0.lock().calls.len()
    }

    pub fn format(&self) -> Option<&'static str> {
        self.0.lock().format
    }

    /// Looks now and after every delta until `look` decides. It must decide when the text has ended.
    pub async fn wait<T>(&self, mut look: impl FnMut(View<'_>) -> Option<T>) -> T {
        poll_fn(move |_| match look(self.0.lock().view()) {
            Some(seen) => Poll::Ready(seen),
            None => Poll::Pending,
        })
        .await
    }

    /// As [`wait`](Self::wait), releasing text up to where `look` says: everything before that is certainly text.
    pub async fn wait_releasing<T>(&self, mut look: impl FnMut(View<'_>, Before) -> (usize, Option<T>)) -> T {
        poll_fn(move |_| {
            let inner = &mut *self.0.lock();
            let (release, seen) = look(inner.view(), Before { at_base: inner.last });
            inner.release(release);
            match seen {
                Some(seen) => Poll::Ready(seen),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// The byte there; `None` at the end of the text.
    pub async fn byte(&self, at: usize) -> Option<u8> {
        self.wait(|view| match view.from(at).first() {
            None if !view.ended => None,
            seen => Some(seen.copied()),
        })
        .await
    }

    /// The first position from `at` that has no white space, or the end.
    pub async fn skip_space(&self, at: usize) -> usize {
        self.skip(at, |byte| byte.is_ascii_whitespace()).await
    }

    /// The first position from `at` whose byte is not one of those, or the end.
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

    /// Which of the literals stands there. The first that does counts.
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

    /// Where the first of the literals is, from `at`, and which.
    pub async fn find(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = Search { next: at, literals };
        self.wait(|view| search.on(&view)).await
    }

    /// As [`find`](Self::find), for what is text all the way: it is released while it is searched.
    pub async fn text_until(&self, at: usize, literals: &[&str]) -> Option<(usize, usize)> {
        let mut search = Search { next: at, literals };
        self.wait_releasing(|view, _| {
            let seen = search.on(&view);
            (search.next, seen)
        })
        .await
    }

    /// Whether `at`, which must not be before the head, begins a line.
    pub fn begins_line(&self, at: usize) -> bool {
        let inner = self.0.lock();
        Before { at_base: inner.last }.begins_line(&inner.view(), at)
    }

    /// The byte before `at`, which must not be before the head.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        let inner = self.0.lock();
        Before { at_base: inner.last }.byte(&inner.view(), at)
    }

    /// The text between two positions, borrowed for as long as `use_it` runs.
    pub fn with<T>(&self, from: usize, to: usize, use_it: impl FnOnce(&str) -> T) -> T {
        let inner = self.0.lock();
        use_it(inner.between(from, to))
    }

    pub fn slice(&self, from: usize, to: usize) -> String {
        self.with(from, to, str::to_owned)
    }

    /// The end of the text so far; the end of all of it once a reader has seen the end.
    pub fn end_so_far(&self) -> usize {
        self.0.lock().view().end()
    }

    /// Everything up to `to` is neither text nor part of a call.
    pub fn drop_to(&self, to: usize) {
        self.0.lock().advance(to);
    }

    /// What is between the head and `to` is this call, or these calls.
    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) {
        let inner = &mut *self.0.lock();
        let failed = drafts.iter().any(|draft| draft.error.is_some());
        let raw = failed.then(|| inner.between(inner.head, to).to_owned());
        inner.emit(drafts, raw.as_deref(), to, format);
    }

    /// Looks once at the text from `at` on. If `look` sees a whole call, what is between the head and its end is that call;
    /// gives the position behind it.
    pub fn take(
        &self,
        at: usize,
        format: &'static str,
        look: impl FnOnce(&str) -> Option<(Draft, usize)>,
    ) -> Option<usize> {
        let inner = &mut *self.0.lock();
        let (draft, length) = look(inner.between(at, inner.view().end()))?;
        inner.emit([draft], None, at + length, format);
        Some(at + length)
    }

    /// What is between the head and `to` closes the last call, and those that share its place.
    pub fn extend(&self, to: usize, repair: Option<Repair>) {
        let inner = &mut *self.0.lock();
        let from = inner.head;
        inner.advance(to);
        let passed = inner.text.get(from - inner.base..inner.head - inner.base).unwrap_or_default();
        for call in &mut inner.calls[inner.settled..] {
            call.span.1 = inner.head_chars;
            match &mut call.failure {
                Some(failure) => failure.raw.push_str(passed),
                None => repair.into_iter().for_each(|repair| call.repairs.add(repair)),
            }
        }
    }
}

impl Inner {
    fn view(&self) -> View<'_> {
        View { bytes: self.text.as_bytes(), base: self.base, ended: self.ended }
    }

    fn between(&self, from: usize, to: usize) -> &str {
        self.text.get(from - self.base..to - self.base).unwrap_or_default()
    }

    fn emit(
        &mut self,
        drafts: impl IntoIterator<Item = Draft>,
        raw: Option<&str>,
        to: usize,
        format: &'static str,
    ) {
        let from = self.head_chars;
        self.advance(to);
        let span = (from, self.head_chars);
        self.settled = self.calls.len();
        for draft in drafts {
            self.format.get_or_insert(format);
            self.add(draft, span, raw);
        }
    }

    fn release(&mut self, to: usize) {
        if to <= self.head {
            return;
        }
        let text = self.text.get(self.head - self.base..to - self.base).unwrap_or_default();
        match self.events.last_mut() {
            Some(Event::Text { text: last }) => last.push_str(text),
            _ => {
                // Without events of calls in between, all text becomes one: room for all of it at once.
                let room = if self.silent { self.text.len() } else { text.len() };
                let mut all = String::with_capacity(room);
                all.push_str(text);
                self.events.push(Event::Text { text: all });
            }
        }
        self.advance(to);
    }

    fn advance(&mut self, to: usize) {
        if to > self.head {
            self.head_chars += self.between(self.head, to).chars().count();
            self.head = to;
        }
    }

    fn add(&mut self, draft: Draft, span: (usize, usize), raw: Option<&str>) {
        let index = self.calls.len();
        let Draft { name, given, id, source, mut repairs, error } = draft;
        let id = match id {
            Some(id) if self.is_new(&id) => Id::Own(id),
            Some(_) => {
                repairs.add(Repair::UsedId);
                self.fresh_id(index)
            }
            None => self.fresh_id(index),
        };
        if let Id::Own(id) = &id {
            self.ids.insert(id.clone());
        }
        if !self.silent {
            match &error {
                Some(error) => self.events.push(Event::CallError { index, error: error.clone() }),
                None => self.events.extend([
                    Event::CallStart { index, name: name.clone() },
                    Event::ArgsDelta { index, delta: given.json() },
                    Event::CallEnd { index },
                ]),
            }
        }
        let raw = || raw.unwrap_or_default().to_owned();
        let failure = error.map(|error| Box::new(Failure { error, raw: raw() }));
        self.calls.push(FoundCall { name, given, id, source, span, repairs, failure });
    }

    /// Whether no call has this id, neither as its own nor as one that was made.
    fn is_new(&self, id: &str) -> bool {
        let place = id.strip_prefix("call_").and_then(|number| number.parse::<usize>().ok());
        let call = place.and_then(|place| self.calls.get(place.checked_sub(1)?));
        !self.ids.contains(id) && call.is_none_or(|call| call.id.text() != id)
    }

    fn fresh_id(&self, index: usize) -> Id {
        let id = Id::Made(index);
        // No look into an empty set: most models give no ids.
        if self.ids.is_empty() || !self.ids.contains(&*id.text()) {
            return id;
        }
        let mut id = id.text().into_owned();
        while self.ids.contains(&id) {
            id.push('_');
        }
        Id::Own(id)
    }
}

/// The byte before the first one in view.
pub(super) struct Before {
    at_base: Option<u8>,
}

impl Before {
    fn byte(&self, view: &View<'_>, at: usize) -> Option<u8> {
        match at.checked_sub(view.base + 1) {
            Some(index) => view.bytes.get(index).copied(),
            None => self.at_base,
        }
    }

    /// Whether `at` begins a line.
    pub fn begins_line(&self, view: &View<'_>, at: usize) -> bool {
        self.byte(view, at).is_none_or(|byte| byte == b'\n' || byte == b'\r')
    }
}

/// A search that goes on where it stopped.
struct Search<'a> {
    next: usize,
    literals: &'a [&'a str],
}

impl Search<'_> {
    fn on(&mut self, view: &View<'_>) -> Option<Option<(usize, usize)>> {
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

    /// The next byte that one of the literals begins with.
    fn candidate(&self, bytes: &[u8]) -> Option<usize> {
        let first = |index: usize| self.literals.get(index).map(|literal| literal.as_bytes()[0]);
        match (first(0), first(1)) {
            (None, _) => None,
            (Some(a), _) if self.literals.iter().all(|literal| literal.as_bytes()[0] == a) => {
                memchr::memchr(a, bytes)
            }
            _ => bytes.iter().position(|byte| self.literals.iter().any(|l| l.as_bytes()[0] == *byte)),
        }
    }
}
