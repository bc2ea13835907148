//! The loop: text until an opening, then the readers that know it, then text again.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::dialects::{self, Dialect, Marker, Opening, Read};
use super::draft::Draft;
use super::extent::{Extent, Notation, Scan};
use super::lenient::Repair;
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
        self.tape.extend(to, (!closed).then(|| Repair::MissingEndTag.name()));
    }
}

/// Reads the text to its end.
pub(super) async fn run(cx: Cx, dialect: Option<&'static Dialect>) {
    let openings = Openings::of(dialect);
    let mut from = 0;
    while let Some((at, index)) = next_opening(&cx, &openings, from).await {
        let entry = &openings.entries[index];
        let opening = Opening { start: at, after: at + entry.text.len() };
        from = at + 1;
        for marker in
            entry.markers.iter().filter(|marker| !(marker.weak && openings.guessing && cx.is_strong()))
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
async fn next_opening(cx: &Cx, openings: &Openings, from: usize) -> Option<(usize, usize)> {
    let strong = openings.guessing && cx.is_strong();
    let mut next = from;
    cx.tape
        .wait_releasing(|view, before| {
            loop {
                let rest = view.from(next);
                let Some(dull) = rest.iter().position(|byte| openings.begins[*byte as usize]) else {
                    next = view.end();
                    return (next, view.ended.then_some(None));
                };
                next += dull;
                let rest = &rest[dull..];
                let begins_line = before.begins_line(&view, next);
                for index in openings.ranges[rest[0] as usize].clone() {
                    let entry = &openings.entries[index];
                    if (entry.weak && strong) || (entry.at_line && !begins_line) {
                        continue;
                    }
                    if rest.starts_with(entry.text.as_bytes()) {
                        return (next, Some(Some((next, index))));
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

/// The markers that are looked for, longer ones before those that they begin with.
struct Openings {
    /// The bytes that one of them begins with.
    begins: [bool; 256],
    /// By first byte, where its entries are.
    ranges: Vec<Range<usize>>,
    entries: Vec<Entry>,
    /// No dialect was asked for.
    guessing: bool,
}

struct Entry {
    text: &'static str,
    at_line: bool,
    /// All of its markers are.
    weak: bool,
    /// In the order of the list of dialects.
    markers: Vec<&'static Marker>,
}

impl Entry {
    fn first(&self) -> usize {
        self.text.as_bytes()[0] as usize
    }
}

impl Openings {
    fn of(dialect: Option<&'static Dialect>) -> Self {
        let mut openings = Self {
            begins: [false; 256],
            ranges: vec![0..0; 256],
            entries: Vec::new(),
            guessing: dialect.is_none(),
        };
        let asked = dialect.map_or(dialects::ALL, std::slice::from_ref);
        for marker in asked.iter().flat_map(|dialect| dialect.markers).chain(dialects::COMMON) {
            openings.add(marker);
        }
        openings.entries.sort_by_key(|entry| (entry.first(), Reverse(entry.text.len())));
        for (index, entry) in openings.entries.iter().enumerate() {
            openings.begins[entry.first()] = true;
            let range = &mut openings.ranges[entry.first()];
            *range = if range.start == range.end { index..index + 1 } else { range.start..index + 1 };
        }
        openings
    }

    fn add(&mut self, marker: &'static Marker) {
        let same = |entry: &&mut Entry| entry.text == marker.text && entry.at_line == marker.at_line;
        match self.entries.iter_mut().find(same) {
            Some(entry) => {
                if !entry.markers.iter().any(|known| std::ptr::fn_addr_eq(known.read, marker.read)) {
                    entry.weak &= marker.weak;
                    entry.markers.push(marker);
                }
            }
            None => {
                let Marker { text, at_line, weak, .. } = *marker;
                self.entries.push(Entry { text, at_line, weak, markers: vec![marker] });
            }
        }
    }
}
