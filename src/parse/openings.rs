//! The markers of the requested dialects, indexed by their first bytes.
//!
//! Almost all of a text starts no marker, so the search looks at eight bytes together: four pairs, each looked up in a table of
//! all pairs. Only where one of them may matter are the bytes looked at one by one.

use std::cmp::Reverse;
use std::sync::{LazyLock, OnceLock};

use super::dialects::{self, DOCUMENT, Form, LinePlace, STARTS};

/// The number of bytes that are looked at together.
const EIGHT: usize = size_of::<u64>();
/// The number of pairs of bytes.
const PAIRS: usize = 1 << 16;

/// The number of the first row in the table of pairs.
const ROWS: usize = 2;

/// Most bytes start no marker, and most of the others are not followed by a second byte that fits.
pub(super) struct Openings {
    /// By two bytes, the first one in the low half: the row of the marks that may start with them, plus [`ROWS`]. Without a row it is
    /// 1 if a mark may start at the second byte, and otherwise 0.
    pairs: Box<[u8; PAIRS]>,
    /// The entries that may start with two bytes, by their index, one before its own prefixes.
    rows: Vec<Vec<u16>>,
    /// By first byte, for the last one of a text so far.
    by_first: [Vec<u16>; 256],
    entries: Vec<MarkEntry>,
    /// The readers that need no mark at the start of a text.
    pub start: MarkEntry,
    /// The requested dialect; `None` to recognise them all.
    pub asked: Option<&'static str>,
}

/// One mark, and the forms that it may begin.
pub(super) struct MarkEntry {
    pub text: &'static str,
    pub place: LinePlace,
    /// All of its forms are weak.
    pub is_weak: bool,
    /// In the order of the dialects.
    pub forms: Vec<&'static Form>,
}

impl MarkEntry {
    /// True if this byte may follow the first one of its mark.
    fn goes_on(&self, second: u8) -> bool {
        match self.text.as_bytes().get(1) {
            Some(own) => *own == second,
            None => self.forms.iter().any(|form| (form.follows)(second)),
        }
    }

    /// True if its mark may have this third byte: most tags of other languages begin as some marker does.
    fn has_third(&self, third: Option<u8>) -> bool {
        third.zip(self.text.as_bytes().get(2)).is_none_or(|(third, own)| third == *own)
    }
}

impl Openings {
    /// The openings of one dialect, of all, or of [documents](DOCUMENT). They are built once.
    pub fn of(dialect: Option<&'static str>) -> &'static Self {
        static BUILT: LazyLock<Vec<(Option<&str>, OnceLock<Openings>)>> = LazyLock::new(|| {
            let names = dialects::names().into_iter().chain([DOCUMENT]).map(Some);
            [None].into_iter().chain(names).map(|name| (name, OnceLock::new())).collect()
        });
        let (_, built) = BUILT.iter().find(|(name, _)| *name == dialect).unwrap_or(&BUILT[0]);
        built.get_or_init(|| Self::new(dialect))
    }

    fn new(asked: Option<&'static str>) -> Self {
        let mut entries = entries(dialects::forms(asked));
        entries.sort_by_key(|entry| Reverse(entry.text.len()));
        let forms = STARTS.iter().filter(|form| asked.is_none_or(|asked| form.dialects.contains(&asked)));
        let start =
            MarkEntry { text: "", place: LinePlace::Anywhere, is_weak: false, forms: forms.collect() };
        let mut by_first = [const { Vec::new() }; 256];
        for (index, entry) in (0..).zip(&entries) {
            by_first[usize::from(entry.text.as_bytes()[0])].push(index);
        }
        let entry = |index: &u16| &entries[usize::from(*index)];
        let (mut pairs, mut rows) = (Box::new([0; PAIRS]), Vec::<Vec<u16>>::new());
        for pair in 0..=u16::MAX {
            let [first, second] = pair.to_le_bytes().map(usize::from);
            let mut all: Vec<u16> = by_first[first].clone();
            all.retain(|index| entry(index).goes_on(second as u8));
            if all.is_empty() {
                pairs[usize::from(pair)] = u8::from(!by_first[second].is_empty());
                continue;
            }
            let known = rows.iter().position(|known| *known == all).unwrap_or(rows.len());
            rows.extend((known == rows.len()).then_some(all));
            pairs[usize::from(pair)] = (known + ROWS) as u8;
        }
        Self { pairs, rows, by_first, entries, start, asked }
    }

    /// The first position where a marker may start.
    pub fn may_begin(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            at += self.quiet(&bytes[at..]);
            let end = bytes.len().min(at + EIGHT);
            if let Some(found) = (at..end).find(|at| self.at(&bytes[*at..]).next().is_some()) {
                return Some(found);
            }
            at = end;
        }
        None
    }

    /// The length of a start in which no marker begins, in steps of eight bytes.
    fn quiet(&self, bytes: &[u8]) -> usize {
        let (eights, _) = bytes.as_chunks::<EIGHT>();
        let is_quiet = |eight: &&[u8; EIGHT]| {
            let all = u64::from_le_bytes(**eight);
            let pair = |shift: u32| self.pairs[usize::from((all >> shift) as u16)];
            pair(0) | pair(16) | pair(32) | pair(48) == 0
        };
        eights.iter().take_while(is_quiet).count() * EIGHT
    }

    /// The entries that may start these bytes.
    pub fn at<'a>(&'a self, bytes: &[u8]) -> impl Iterator<Item = &'a MarkEntry> + use<'a> {
        let listed: &[u16] = match *bytes {
            [] => &[],
            [first] => &self.by_first[usize::from(first)],
            [first, second, ..] => {
                let pair = usize::from(u16::from_le_bytes([first, second]));
                usize::from(self.pairs[pair]).checked_sub(ROWS).map_or(&[], |row| &self.rows[row])
            }
        };
        let entries = listed.iter().map(|index| &self.entries[usize::from(*index)]);
        let third = bytes.get(2).copied();
        entries.filter(move |entry| entry.has_third(third))
    }
}

/// An entry for each mark.
fn entries(forms: Vec<&'static Form>) -> Vec<MarkEntry> {
    let mut entries: Vec<MarkEntry> = Vec::new();
    for (form, text) in forms.into_iter().flat_map(|form| form.marks.iter().map(move |text| (form, *text))) {
        match entries.iter_mut().find(|entry| entry.text == text && entry.place == form.place) {
            Some(entry) => {
                entry.is_weak &= form.is_weak;
                entry.forms.push(form);
            }
            None => {
                let Form { place, is_weak, .. } = *form;
                entries.push(MarkEntry { text, place, is_weak, forms: vec![form] });
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_search_finds_what_a_look_at_each_position_finds(text in "[<\\[{a-gt0-9 |`\n\u{e9}\u{25c1}]{0,40}") {
            for openings in [None, Some("hermes")].map(Openings::of) {
                let bytes = text.as_bytes();
                let each = (0..bytes.len()).find(|at| openings.at(&bytes[*at..]).next().is_some());
                proptest::prop_assert_eq!(openings.may_begin(bytes), each);
            }
        }
    }

    #[test]
    fn every_marker_is_found_at_every_offset() {
        for openings in dialects::names().into_iter().map(Some).chain([None]).map(Openings::of) {
            assert!(openings.rows.len() + ROWS <= 256, "a row has a number of one byte");
            for (entry, before) in
                openings.entries.iter().flat_map(|entry| (0..70).map(move |at| (entry, at)))
            {
                let text = ["x".repeat(before).as_str(), entry.text, &"\n".repeat(70)].concat();
                assert_eq!(openings.may_begin(text.as_bytes()), Some(before), "{}", entry.text);
            }
        }
    }
}
