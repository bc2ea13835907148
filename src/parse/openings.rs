//! The markers of the requested dialects, indexed by their first bytes.
//!
//! Almost all of a text starts no marker, so the search looks at eight bytes together: four pairs, each looked up in a table of
//! all pairs. Only where one of them may matter are the bytes looked at one by one.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::dialects::{
    ALL, AROUND_TOOL_CALL, COMMON, DOCUMENT, DOCUMENT_NAME, FIRST, FirstReader, RESPONSES, TOOL_CALL, TURNS,
    reasoning,
};
use super::marker::{CallDialect, LinePlace, Marker};

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
    entries: Vec<MarkerEntry>,
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

/// One marker text, and the readers of what follows it.
pub(super) struct MarkerEntry {
    pub text: &'static str,
    pub place: LinePlace,
    /// All of its markers are weak.
    pub weak: bool,
    /// In the order of the dialects.
    pub markers: Vec<&'static Marker>,
}

impl Openings {
    /// The openings of one dialect, or of all. They are built once.
    pub fn of(dialect: Option<&'static CallDialect>) -> &'static Self {
        static BUILT: [OnceLock<Openings>; ALL.len() + 1] = [const { OnceLock::new() }; ALL.len() + 1];
        let index = ALL.iter().position(|known| dialect.is_some_and(|asked| asked.name == known.name));
        BUILT[index.map_or(0, |index| index + 1)].get_or_init(|| Self::new(dialect))
    }

    /// The openings of JSON that is not a call.
    pub fn of_documents() -> &'static Self {
        static BUILT: OnceLock<Openings> = OnceLock::new();
        BUILT.get_or_init(|| {
            let mut entries = Vec::new();
            DOCUMENT
                .iter()
                .copied()
                .flatten()
                .chain(reasoning())
                .for_each(|marker| add(&mut entries, marker));
            Self::indexed(entries, Some(DOCUMENT_NAME))
        })
    }

    fn new(dialect: Option<&'static CallDialect>) -> Self {
        let mut entries: Vec<MarkerEntry> = Vec::new();
        let asked = dialect.map_or(ALL, std::slice::from_ref);
        let common = reasoning().iter().chain(RESPONSES).chain(TURNS).chain(COMMON);
        for marker in asked.iter().flat_map(|dialect| dialect.markers).chain(common) {
            add(&mut entries, marker);
        }
        // The marks of other families are text when a dialect is requested.
        if entries.iter().any(|entry| entry.text == TOOL_CALL) {
            AROUND_TOOL_CALL.iter().for_each(|marker| add(&mut entries, marker));
        }
        Self::indexed(entries, dialect.map(|dialect| dialect.name))
    }

    fn indexed(mut entries: Vec<MarkerEntry>, asked: Option<&'static str>) -> Self {
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
                    let follows = |byte: u8| entry.markers.iter().any(|marker| (marker.follows)(byte));
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

    /// The readers that look at the start of the text.
    pub fn first(&self) -> impl Iterator<Item = &'static FirstReader> {
        let is_wanted = |first: &&FirstReader| self.asked.is_none_or(|asked| first.dialects.contains(&asked));
        FIRST.iter().filter(is_wanted)
    }

    /// True if no dialect was requested.
    pub fn guessing(&self) -> bool {
        self.asked.is_none()
    }

    /// True if a quotation shows that nothing was meant. An answer that is asked for may stand in quotes.
    pub fn minds_quotes(&self) -> bool {
        self.asked != Some(DOCUMENT_NAME)
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
    pub fn at<'a>(&'a self, bytes: &[u8]) -> impl Iterator<Item = &'a MarkerEntry> {
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

fn add(entries: &mut Vec<MarkerEntry>, marker: &'static Marker) {
    let same = |entry: &&mut MarkerEntry| entry.text == marker.text && entry.place == marker.place;
    match entries.iter_mut().find(same) {
        Some(entry) => {
            if !entry.markers.iter().any(|known| std::ptr::fn_addr_eq(known.read, marker.read)) {
                entry.weak &= marker.weak;
                entry.markers.push(marker);
            }
        }
        None => {
            let Marker { text, place, weak, .. } = *marker;
            entries.push(MarkerEntry { text, place, weak, markers: vec![marker] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_search_finds_what_a_look_at_each_position_finds(text in "[<\\[{a-gt0-9 |`\n\u{e9}\u{25c1}]{0,40}") {
            for openings in [None, ALL.first()].map(Openings::of) {
                let bytes = text.as_bytes();
                let each = (0..bytes.len()).find(|at| !openings.listed(&bytes[*at..]).is_empty());
                proptest::prop_assert_eq!(openings.may_begin(bytes), each);
            }
        }
    }

    #[test]
    fn every_marker_is_found_at_every_offset() {
        for openings in ALL.iter().map(Some).chain([None]).map(Openings::of) {
            for (entry, before) in
                openings.entries.iter().flat_map(|entry| (0..70).map(move |at| (entry, at)))
            {
                let text = ["x".repeat(before).as_str(), entry.text, &"\n".repeat(70)].concat();
                assert_eq!(openings.may_begin(text.as_bytes()), Some(before), "{}", entry.text);
            }
        }
    }
}
