//! Rewrites JSON within a number of characters.
//!
//! Each container divides its room: small values are written in full, large ones get equal parts of the rest. An
//! array keeps as many elements as can each have a quarter of it, an object as many members as can have an
//! eighth: a few readable hits are worth more than the first letter of all. Unused room goes to the next value. An
//! array keeps its first elements, an object the members that tell most; a link as a whole, or not at all.

use super::super::job::CutJob;
use super::super::notice::{self, Noun, more};
use super::string::shorten;
use super::tape::{ATOM, JsonNode, JsonTape, NodeShape, ODD};
use super::telling::{Telling, is_link, telling};

/// The room that a value with an unknown end asks for, beyond its known part.
const BEYOND: usize = 48;

pub(super) struct Writer<'t> {
    tape: &'t JsonTape<'t>,
    job: &'t CutJob<'t>,
    out: String,
    /// The number of characters in `out`.
    chars: usize,
    stack: Vec<Frame>,
}

/// A container that is being written.
struct Frame {
    shape: NodeShape,
    /// The next element or member, and the number still to be written.
    child: usize,
    left: usize,
    /// Of an object that does not fit, the kept members in reverse order; the last one is that after `child`.
    kept: Vec<usize>,
    first: bool,
    /// The mark for what is left out, if there is one.
    mark: MoreMark,
    /// The maximum length of `out` before the mark and the closing bracket.
    end: usize,
    /// The part of it that is reserved for the remaining children.
    promised: usize,
    /// The maximum room reserved for the value of a child.
    level: usize,
}

impl Frame {
    fn new(shape: NodeShape, index: usize, mark: MoreMark, level: usize) -> Self {
        let (child, left, kept, end) = (index + 1, 0, Vec::new(), 0);
        Frame { shape, child, left, kept, first: true, mark, end, promised: 0, level }
    }
}

/// How a container marks that something is missing.
#[derive(Clone, Copy)]
enum MoreMark {
    Nothing,
    Ellipsis,
    More(usize),
    /// At the end of a text of which only the start is known: the notice of the whole text.
    Notice,
}

impl<'t> Writer<'t> {
    pub(super) fn new(tape: &'t JsonTape<'t>, job: &'t CutJob<'t>) -> Self {
        Writer { tape, job, out: String::new(), chars: 0, stack: Vec::new() }
    }

    /// The text within `limit` characters; empty if not even brackets fit.
    pub(super) fn write(mut self, limit: usize) -> String {
        if limit < 2 {
            return String::new();
        }
        self.value(0, limit);
        while let Some(mut frame) = self.stack.pop() {
            if frame.left == 0 {
                self.mark(&frame);
                self.push(if frame.shape == NodeShape::Object { "}" } else { "]" });
                continue;
            }
            if !frame.first {
                self.push(",");
            }
            let key = frame.child;
            let value = if frame.shape == NodeShape::Object {
                self.push(self.tape.raw(key));
                self.push(":");
                key + 1
            } else {
                key
            };
            let node = self.tape.node(value);
            let comma = usize::from(!frame.first);
            frame.promised -= comma + self.key_size(&frame, key) + self.share(&frame, key);
            frame.child = frame.kept.pop().unwrap_or(node.next);
            frame.left -= 1;
            frame.first = false;
            let end = frame.end - frame.promised;
            self.stack.push(frame);
            self.value(value, end);
        }
        self.out
    }

    /// Writes a value so that `out` has at most `end` characters, or opens it if it is a container.
    fn value(&mut self, index: usize, end: usize) {
        let node = self.tape.node(index);
        let room = end - self.chars;
        let fits = !node.open && node.size <= room;
        match node.shape {
            NodeShape::Atom if fits && ODD.contains(&self.tape.raw(index)) => self.push("null"),
            _ if fits && node.tight => {
                self.out.push_str(self.tape.raw(index));
                self.chars += node.size;
            }
            NodeShape::Object | NodeShape::Array => {
                let frame = if fits { self.whole(index) } else { self.shared(index, room) };
                self.push(if node.shape == NodeShape::Object { "{" } else { "[" });
                self.stack.push(frame);
            }
            NodeShape::Text => {
                let raw = self.tape.raw(index);
                let content = raw.strip_prefix('"').unwrap_or(raw);
                let content = if node.open { content } else { content.strip_suffix('"').unwrap_or(content) };
                self.push(&shorten(content, self.beyond(index), room, self.job.lang));
            }
            NodeShape::Atom => {
                self.push(&shorten(self.tape.raw(index), self.beyond(index), room, self.job.lang))
            }
        }
    }

    /// The number of unknown characters of a string or number; for the whole text, the rest of it.
    fn beyond(&self, index: usize) -> Option<usize> {
        let node = self.tape.node(index);
        match (node.open, index) {
            (false, _) => Some(0),
            (true, 0) => Some(self.job.total_chars.saturating_sub(node.size)),
            (true, _) => None,
        }
    }

    /// A container that fits: only surplus hits are left out.
    fn whole(&self, index: usize) -> Frame {
        let node = self.tape.node(index);
        let (keep, children) = (node.keep, node.children);
        let mark = if keep < children { MoreMark::More(children - keep) } else { MoreMark::Nothing };
        let mut frame = Frame { left: keep, ..Frame::new(node.shape, index, mark, usize::MAX) };
        let mark = self.mark_text(mark, node.shape, 0).chars().count();
        frame.promised = node.size - 2 - mark - usize::from(mark > 0 && keep > 0);
        frame.end = self.chars + 1 + frame.promised;
        frame
    }

    /// A container that does not fit into `room`: what is kept, and how the room is divided.
    fn shared(&self, index: usize, room: usize) -> Frame {
        let node = self.tape.node(index);
        let inner = room - 2;
        let part = if node.shape == NodeShape::Array { 4 } else { 8 };
        let share = (inner / part).max(ATOM);
        let mut frame = Frame {
            end: self.chars + 1 + inner,
            ..Frame::new(node.shape, index, self.best_mark(index, inner), share)
        };
        let cost = self.mark_size(&frame);
        let ranked = self.ranked(index);
        let within = |frame: &Frame, room: usize| match &ranked {
            Some(ranked) => self.first_within(frame, ranked.iter().copied(), room),
            None => self.first_within(frame, self.children(index), room),
        };
        let all = within(&frame, inner);
        if all.len() == node.children && !node.open {
            (frame.kept, frame.mark) = (all, MoreMark::Nothing);
        } else {
            frame.kept = within(&frame, inner.saturating_sub(cost));
            if frame.kept.is_empty() {
                let first = match &ranked {
                    Some(all) => all.iter().find(|key| !self.is_link(&frame, **key)).or(all.first()).copied(),
                    None => self.children(index).next(),
                };
                frame.kept =
                    first.filter(|first| self.squeeze(&mut frame, *first, inner)).into_iter().collect();
            }
            if self.keeps_mark_key(&frame) {
                frame.mark = MoreMark::Nothing;
            }
            frame.end -= self.mark_size(&frame);
            if let MoreMark::More(missing) = &mut frame.mark {
                *missing = node.children - frame.kept.len();
            }
        }
        self.promise(&mut frame);
        frame.left = frame.kept.len();
        frame.kept.reverse();
        frame.child = frame.kept.pop().unwrap_or(frame.child);
        frame
    }

    /// The elements of an array or the keys of an object that may be written, in their order.
    fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        let node = self.tape.node(index);
        let to_value = usize::from(node.shape == NodeShape::Object);
        let mut child = index + 1;
        (0..node.keep).map(move |_| {
            let next = self.tape.node(child + to_value).next;
            std::mem::replace(&mut child, next)
        })
    }

    /// The keys of an object, those that tell most first; `None` for an array, and for an object that is a table and not a
    /// description of something.
    fn ranked(&self, index: usize) -> Option<Vec<usize>> {
        const TABLE: usize = 64;
        let node = self.tape.node(index);
        if node.shape != NodeShape::Object || node.keep > TABLE {
            return None;
        }
        let mut keys: Vec<usize> = self.children(index).collect();
        keys.sort_by_cached_key(|key| {
            telling(self.tape.raw(*key), self.tape.raw(key + 1), self.tape.node(key + 1))
        });
        Some(keys)
    }

    /// The first of these children that can have their share within `room`, in the order of the text.
    fn first_within(&self, frame: &Frame, children: impl Iterator<Item = usize>, room: usize) -> Vec<usize> {
        let (mut used, mut kept, mut lacks_link) = (0, Vec::new(), false);
        for child in children {
            let size = usize::from(!kept.is_empty()) + self.key_size(frame, child) + self.share(frame, child);
            if self.is_link(frame, child) && (size > room / 2 || self.names_whole(frame, &kept) + size > room)
            {
                lacks_link = true;
                continue;
            }
            // Where there is no room for a link, there is none for an identifier, which tells less.
            if lacks_link && !kept.is_empty() && self.telling(frame, child) == Some(Telling::Identifier) {
                break;
            }
            used += size;
            if used > room {
                break;
            }
            kept.push(child);
        }
        kept.sort_unstable();
        kept
    }

    /// The room for these children if each has as much as the longest name among them: a link is not worth a cut name.
    fn names_whole(&self, frame: &Frame, kept: &[usize]) -> usize {
        const LONGEST: usize = 80;
        let size = |child: &usize| wants(self.tape.node(self.value_of(frame, *child)));
        let is_name = |child: &&usize| self.telling(frame, **child) == Some(Telling::Name);
        let name = kept.iter().filter(is_name).map(size).max().unwrap_or(0).min(LONGEST);
        let level = name.max(frame.level);
        let room = |child: &usize| {
            let share = if self.is_link(frame, *child) { size(child) } else { size(child).min(level) };
            1 + self.key_size(frame, *child) + share
        };
        kept.iter().map(room).sum()
    }

    /// If no child can have its share, the first gets all the room, if necessary without a mark. False if it cannot.
    fn squeeze(&self, frame: &mut Frame, first: usize, inner: usize) -> bool {
        let value = self.tape.node(self.value_of(frame, first));
        let least = match value.shape {
            NodeShape::Object | NodeShape::Array => 2,
            NodeShape::Atom if value.size <= ATOM => value.size,
            NodeShape::Atom | NodeShape::Text => value.size.min(3),
        };
        let needed = self.key_size(frame, first) + least;
        if needed <= inner && needed + self.mark_size(frame) > inner {
            frame.mark = MoreMark::Nothing;
        }
        needed <= inner
    }

    /// True if a kept member has the same key as the mark, which would replace its value.
    fn keeps_mark_key(&self, frame: &Frame) -> bool {
        frame.shape == NodeShape::Object
            && frame.kept.iter().any(|key| {
                let key = self.tape.raw(*key);
                key == "\"…\"" || key.eq_ignore_ascii_case("\"\\u2026\"")
            })
    }

    /// Finds the room that every kept child can have, and reserves it.
    fn promise(&self, frame: &mut Frame) {
        let room = frame.end - self.chars - 1;
        let (mut fixed, mut wanted) = (0, Vec::with_capacity(frame.kept.len()));
        for (at, child) in frame.kept.iter().enumerate() {
            fixed += usize::from(at > 0) + self.key_size(frame, *child);
            let size = wants(self.tape.node(self.value_of(frame, *child)));
            match self.is_link(frame, *child) {
                true => fixed += size,
                false => wanted.push(size),
            }
        }
        let room = room.saturating_sub(fixed);
        let used = |level: usize| wanted.iter().map(|size| (*size).min(level)).sum::<usize>();
        let (mut low, mut high) = (0, room);
        while low < high {
            let middle = high - (high - low) / 2;
            if used(middle) <= room {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        frame.level = low;
        frame.promised = fixed + used(low);
    }

    /// The room that is reserved for the value of a child.
    fn share(&self, frame: &Frame, child: usize) -> usize {
        let size = wants(self.tape.node(self.value_of(frame, child)));
        if self.is_link(frame, child) { size } else { size.min(frame.level) }
    }

    /// How much a member tells; `None` for an element of an array.
    fn telling(&self, frame: &Frame, child: usize) -> Option<Telling> {
        let is_member = frame.shape == NodeShape::Object;
        is_member.then(|| telling(self.tape.raw(child), self.tape.raw(child + 1), self.tape.node(child + 1)))
    }

    /// True for a member that is a link.
    fn is_link(&self, frame: &Frame, child: usize) -> bool {
        frame.shape == NodeShape::Object && is_link(self.tape.raw(child + 1))
    }

    fn value_of(&self, frame: &Frame, child: usize) -> usize {
        child + usize::from(frame.shape == NodeShape::Object)
    }

    /// The key of a member and its colon.
    fn key_size(&self, frame: &Frame, child: usize) -> usize {
        if frame.shape == NodeShape::Object { self.tape.node(child).size + 1 } else { 0 }
    }

    /// The most informative mark that takes at most a third of the room, or half of it for the whole text.
    fn best_mark(&self, index: usize, inner: usize) -> MoreMark {
        let node = self.tape.node(index);
        let counted = match (node.open, index) {
            (false, _) => Some(MoreMark::More(node.children)),
            (true, 0) => Some(MoreMark::Notice),
            // The number of missing elements is unknown.
            (true, _) => None,
        };
        let fits = |mark: &MoreMark| {
            let part = if matches!(mark, MoreMark::Notice) { 2 } else { 3 };
            self.mark_text(*mark, node.shape, 0).chars().count() * part <= inner
        };
        // A member without a number would say nothing that a reader of a cut text does not know.
        let bare = (node.shape == NodeShape::Array).then_some(MoreMark::Ellipsis);
        counted.into_iter().chain(bare).find(fits).unwrap_or(MoreMark::Nothing)
    }

    /// The maximum room of a mark, with its comma.
    fn mark_size(&self, frame: &Frame) -> usize {
        match self.mark_text(frame.mark, frame.shape, 0).chars().count() {
            0 => 0,
            size => size + 1,
        }
    }

    /// The mark as an element or a member, if `kept` characters of the whole text are kept.
    fn mark_text(&self, mark: MoreMark, shape: NodeShape, kept: usize) -> String {
        let text = match mark {
            MoreMark::Nothing => return String::new(),
            MoreMark::Ellipsis => String::from("…"),
            MoreMark::More(missing) => more(self.job.lang, missing),
            MoreMark::Notice => {
                let cut = self.job.total_chars.saturating_sub(kept);
                let cut = match self.job.noun {
                    Noun::Characters => cut,
                    // How many tokens are kept is only known once all is written.
                    Noun::Tokens => {
                        (self.job.total as u128 * cut as u128 / self.job.total_chars.max(1) as u128) as usize
                    }
                };
                let is_estimated = self.job.noun == Noun::Tokens;
                notice::notice(self.job.lang, self.job.noun, is_estimated, cut, self.job.total)
            }
        };
        match shape {
            NodeShape::Object => format!("\"…\":\"{}\"", text.trim_start_matches(['…', ' '])),
            _ => format!("\"{text}\""),
        }
    }

    fn mark(&mut self, frame: &Frame) {
        let text = self.mark_text(frame.mark, frame.shape, self.chars + 1);
        if text.is_empty() {
            return;
        }
        if !frame.first {
            self.push(",");
        }
        self.push(&text);
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.chars += text.chars().count();
    }
}

/// The number of characters that a value would fill.
fn wants(node: &JsonNode) -> usize {
    node.size + if node.open { BEYOND } else { 0 }
}
