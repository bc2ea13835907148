//! The markers of the requested dialects, indexed by their first bytes.
//!
//! Almost all of a text starts no marker, so the search looks at eight bytes together: four pairs, each looked up in a table of
//! all pairs. Only where one of them may matter are the bytes looked at one by one.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::dialects::{
    ALL, AROUND_TOOL_CALL, DOCUMENT, Form, LinePlace, all_names, common_forms, document_forms, forms_of,
};

/// The number of bytes that are looked at together.
const EIGHT: usize = size_of::<u64>();
/// The number of pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Most bytes start no marker, and most of the others are not followed by a second byte that fits.
pub(super) struct Openings {
    /// By two bytes, the first one in the low half: 1 if a marker may start at one of them, whatever follows.
    pairs: Box<[u8; PAIRS]>,
    /// By first byte: the index of its row plus one, or zero.
    first: [u8; 256],
    rows: Vec<FirstByteRow>,
    entries: Vec<MarkEntry>,
    /// The requested dialect.
    pub asked: Option<&'static str>,
}

/// The entries that start with one byte. An entry comes before its own prefixes.
struct FirstByteRow {
    all: Vec<u16>,
    by_second: Vec<SecondByteRow>,
}

/// The entries that start with two bytes.
#[derive(Clone, Default)]
struct SecondByteRow {
    all: Vec<u16>,
    /// By third byte, where there are many: most tags of other languages begin as some marker does.
    by_third: Vec<Vec<u16>>,
}

/// For this many entries with the same two bytes the third one is looked at.
const MANY: usize = 4;

/// One mark, and the forms that it may begin.
pub(super) struct MarkEntry {
    pub text: &'static str,
    pub place: LinePlace,
    /// All of its forms are weak.
    pub is_weak: bool,
    /// In the order of the dialects.
    pub forms: Vec<&'static Form>,
}

impl Openings {
    /// The openings of one dialect, or of all. They are built once.
    pub fn of(dialect: Option<&'static str>) -> &'static Self {
        static BUILT: OnceLock<Vec<OnceLock<Openings>>> = OnceLock::new();
        let names = all_names();
        let index = names.iter().position(|known| Some(*known) == dialect);
        let built = BUILT.get_or_init(|| (0..=names.len()).map(|_| OnceLock::new()).collect());
        built[index.map_or(0, |index| index + 1)].get_or_init(|| Self::new(dialect))
    }

    /// The openings of JSON that is not a call.
    pub fn of_documents() -> &'static Self {
        static BUILT: OnceLock<Openings> = OnceLock::new();
        BUILT.get_or_init(|| Self::indexed(entries(document_forms()), Some(DOCUMENT)))
    }

    fn new(dialect: Option<&'static str>) -> Self {
        let asked: Vec<&'static Form> = match dialect {
            Some(dialect) => forms_of(dialect).collect(),
            None => ALL.iter().collect(),
        };
        // The marks of other families are text when a dialect is requested.
        let has_tag = asked.iter().any(|form| form.marks.contains(&"<tool_call>"));
        let around = AROUND_TOOL_CALL.iter().filter(|_| has_tag);
        let all = asked.into_iter().chain(common_forms()).chain(around);
        Self::indexed(entries(all), dialect)
    }

    fn indexed(mut entries: Vec<MarkEntry>, asked: Option<&'static str>) -> Self {
        entries.sort_by_key(|entry| Reverse(entry.text.len()));
        let pairs = Box::new([0; PAIRS]);
        let mut openings = Self { pairs, first: [0; 256], rows: Vec::new(), entries, asked };
        openings.index();
        for pair in 0..=u16::MAX {
            openings.pairs[usize::from(pair)] = u8::from(openings.may_matter(pair));
        }
        openings
    }

    fn index(&mut self) {
        for (index, entry) in self.entries.iter().enumerate() {
            let row = &mut self.first[entry.text.as_bytes()[0] as usize];
            if *row == 0 {
                self.rows
                    .push(FirstByteRow { all: Vec::new(), by_second: vec![SecondByteRow::default(); 256] });
                *row = self.rows.len() as u8;
            }
            let row = &mut self.rows[*row as usize - 1];
            row.all.push(index as u16);
            match entry.text.as_bytes().get(1) {
                Some(second) => row.by_second[*second as usize].all.push(index as u16),
                None => {
                    let follows = |byte: u8| entry.forms.iter().any(|form| (form.follows)(byte));
                    for byte in (0..=255).filter(|byte| follows(*byte)) {
                        row.by_second[byte as usize].all.push(index as u16);
                    }
                }
            }
        }
        let rows = self.rows.iter_mut().flat_map(|row| &mut row.by_second);
        for row in rows.filter(|row| row.all.len() >= MANY) {
            let third = |index: &u16| self.entries[usize::from(*index)].text.as_bytes().get(2).copied();
            let starting = |byte: u8| {
                let fits = |index: &&u16| third(index).is_none_or(|known| known == byte);
                row.all.iter().filter(fits).copied().collect()
            };
            row.by_third = (0..=u8::MAX).map(starting).collect();
        }
    }

    /// True if no dialect was requested.
    pub fn guessing(&self) -> bool {
        self.asked.is_none()
    }

    /// The first position where a marker may start.
    pub fn may_begin(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            at += self.quiet(&bytes[at..]);
            let end = bytes.len().min(at + EIGHT);
            let begins =
                |at: &usize| self.first[bytes[*at] as usize] != 0 && !self.listed(&bytes[*at..]).is_empty();
            if let Some(found) = (at..end).find(begins) {
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

    /// True if a marker starts with these bytes, or may start with the second one.
    fn may_matter(&self, pair: u16) -> bool {
        let [first, second] = pair.to_le_bytes();
        !self.listed(&[first, second]).is_empty() || self.first[second as usize] != 0
    }

    /// The entries that may start these bytes.
    pub fn at<'a>(&'a self, bytes: &[u8]) -> impl Iterator<Item = &'a MarkEntry> {
        self.listed(bytes).iter().map(|index| &self.entries[*index as usize])
    }

    fn listed(&self, bytes: &[u8]) -> &[u16] {
        let row = bytes
            .first()
            .and_then(|first| self.rows.get((self.first[*first as usize] as usize).wrapping_sub(1)));
        let (row, second) = match (row, bytes.get(1)) {
            (None, _) => return &[],
            (Some(row), None) => return &row.all,
            (Some(row), Some(second)) => (row, *second),
        };
        let row = &row.by_second[second as usize];
        let third = bytes.get(2).and_then(|third| row.by_third.get(*third as usize));
        third.unwrap_or(&row.all)
    }
}

/// An entry for each mark.
fn entries(forms: impl Iterator<Item = &'static Form>) -> Vec<MarkEntry> {
    let mut entries: Vec<MarkEntry> = Vec::new();
    for (form, text) in forms.flat_map(|form| form.marks.iter().map(move |text| (form, *text))) {
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
                let each = (0..bytes.len()).find(|at| !openings.listed(&bytes[*at..]).is_empty());
                proptest::prop_assert_eq!(openings.may_begin(bytes), each);
            }
        }
    }

    #[test]
    fn every_marker_is_found_at_every_offset() {
        for openings in all_names().iter().copied().map(Some).chain([None]).map(Openings::of) {
            for (entry, before) in
                openings.entries.iter().flat_map(|entry| (0..70).map(move |at| (entry, at)))
            {
                let text = ["x".repeat(before).as_str(), entry.text, &"\n".repeat(70)].concat();
                assert_eq!(openings.may_begin(text.as_bytes()), Some(before), "{}", entry.text);
            }
        }
    }
}
