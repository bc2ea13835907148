//! The loop: text until an opening, then the readers that know it, then text again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::dialects::{Opening, Read};
use super::draft::Draft;
use super::extent::{Extent, Notation, Scan};
use super::lenient::Repair;
use super::openings::{Entry, Openings};
use super::options::Tools;
use super::tape::Tape;

/// So often a value that never ends may be given up and its text searched again; each time may cost the whole rest.
const SECOND_LOOKS: usize = 24;

/// What the readers share.
pub(super) struct Cx {
    pub tape: Tape,
    pub tools: Arc<Tools>,
    /// A call with a marker was seen.
    strong: AtomicBool,
    second_looks: AtomicUsize,
    /// No more calls: the rest is text.
    over: AtomicBool,
}

impl Cx {
    pub fn new(tape: Tape, tools: Arc<Tools>) -> Self {
        let second_looks = AtomicUsize::new(SECOND_LOOKS);
        Self { tape, tools, strong: AtomicBool::new(false), second_looks, over: AtomicBool::new(false) }
    }

    /// Where the value that begins with the bracket at `at` ends.
    pub async fn extent(&self, at: usize, notation: Notation, stops: &[&str]) -> Extent {
        let mut scan = Scan::new(at, notation, stops);
        self.tape.wait(|view| scan.look(&view)).await
    }

    pub fn is_strong(&self) -> bool {
        self.strong.load(Ordering::Relaxed)
    }

    /// Takes one of the second looks; `false` when there is none left.
    pub fn second_look(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.second_looks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// The rest of the text has no calls.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) {
        self.tape.emit(drafts, to, format);
    }

    /// The end of a call came, or the text ended without it.
    pub fn close(&self, to: usize, closed: bool) {
        self.tape.extend(to, (!closed).then_some(Repair::MissingEndTag));
    }
}

/// Reads the text to its end.
pub(super) async fn run(cx: Cx, openings: &'static Openings) {
    let mut from = 0;
    while let Some((at, entry)) = next_opening(&cx, openings, from).await {
        let opening = Opening { start: at, after: at + entry.text.len() };
        from = at + 1;
        for marker in
            entry.markers.iter().filter(|marker| !(marker.weak && openings.guessing() && cx.is_strong()))
        {
            let calls = cx.tape.count_calls();
            match (marker.read)(&cx, opening).await {
                Read::No => continue,
                Read::Text(to) => from = to,
                Read::Block(to) => {
                    cx.tape.drop_to(to);
                    from = to;
                    if !marker.weak && cx.tape.count_calls() > calls {
                        cx.strong.store(true, Ordering::Relaxed);
                    }
                }
            }
            break;
        }
        if cx.over.load(Ordering::Relaxed) {
            cx.tape.text_until(from, &[]).await;
            break;
        }
    }
}

/// The next opening from there, and which; all text before it is released.
async fn next_opening(cx: &Cx, openings: &'static Openings, from: usize) -> Option<(usize, &'static Entry)> {
    let strong = openings.guessing() && cx.is_strong();
    let mut next = from;
    cx.tape
        .wait_releasing(|view, before| {
            loop {
                let rest = view.from(next);
                let Some(dull) = openings.may_begin(rest) else {
                    next = view.end();
                    return (next, view.ended.then_some(None));
                };
                next += dull;
                let rest = &rest[dull..];
                let begins_line = before.begins_line(&view, next);
                for entry in openings.at(rest) {
                    if (entry.weak && strong) || (entry.at_line && !begins_line) {
                        continue;
                    }
                    if rest.starts_with(entry.text.as_bytes()) {
                        return (next, Some(Some((next, entry))));
                    }
                    if !view.ended && entry.text.as_bytes().starts_with(rest) {
                        return (next, None);
                    }
                }
                next += 1;
            }
        })
        .await
}
