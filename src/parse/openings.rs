//! The markers that are looked for, and how they are found quickly.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::dialects::{ALL, COMMON};
use super::marker::{CallDialect, Marker};

/// Most bytes begin no marker; of the others, most are not followed by its second byte.
pub(super) struct Openings {
    /// By first byte: where its row is, plus one.
    first: [u8; 256],
    rows: Vec<Row>,
    entries: Vec<MarkerEntry>,
    /// The dialect that was asked for.
    pub asked: Option<&'static str>,
}

/// The entries that begin with one byte, longer ones before those that they begin with.
struct Row {
    all: Vec<u16>,
    by_second: Vec<Vec<u16>>,
}

/// One text, and who may read what follows it.
pub(super) struct MarkerEntry {
    pub text: &'static str,
    pub at_line: bool,
    /// All of its markers are.
    pub weak: bool,
    /// In the order of the list of dialects.
    pub markers: Vec<&'static Marker>,
}

impl Openings {
    /// Those of a dialect, or of all of them. They are made once.
    pub fn of(dialect: Option<&'static CallDialect>) -> &'static Self {
        static MADE: [OnceLock<Openings>; ALL.len() + 1] = [const { OnceLock::new() }; ALL.len() + 1];
        let index = ALL.iter().position(|known| dialect.is_some_and(|asked| asked.name == known.name));
        MADE[index.map_or(0, |index| index + 1)].get_or_init(|| Self::new(dialect))
    }

    fn new(dialect: Option<&'static CallDialect>) -> Self {
        let mut entries: Vec<MarkerEntry> = Vec::new();
        let asked = dialect.map_or(ALL, std::slice::from_ref);
        for marker in asked.iter().flat_map(|dialect| dialect.markers).chain(COMMON) {
            add(&mut entries, marker);
        }
        entries.sort_by_key(|entry| Reverse(entry.text.len()));
        let asked = dialect.map(|dialect| dialect.name);
        let mut openings = Self { first: [0; 256], rows: Vec::new(), entries, asked };
        openings.index();
        openings
    }

    fn index(&mut self) {
        for (index, entry) in self.entries.iter().enumerate() {
            let place = &mut self.first[entry.text.as_bytes()[0] as usize];
            if *place == 0 {
                self.rows.push(Row { all: Vec::new(), by_second: vec![Vec::new(); 256] });
                *place = self.rows.len() as u8;
            }
            let row = &mut self.rows[*place as usize - 1];
            row.all.push(index as u16);
            match entry.text.as_bytes().get(1) {
                Some(second) => row.by_second[*second as usize].push(index as u16),
                None => {
                    let follows = |byte: u8| entry.markers.iter().any(|marker| (marker.follows)(byte));
                    for byte in (0..=255).filter(|byte| follows(*byte)) {
                        row.by_second[byte as usize].push(index as u16);
                    }
                }
            }
        }
    }

    /// No dialect was asked for.
    pub fn guessing(&self) -> bool {
        self.asked.is_none()
    }

    /// The first place where a marker may begin.
    pub fn may_begin(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            at += bytes[at..].iter().position(|byte| self.first[*byte as usize] != 0)?;
            if !self.listed(&bytes[at..]).is_empty() {
                return Some(at);
            }
            at += 1;
        }
    }

    /// The entries that may stand at the start of these bytes.
    pub fn at<'a>(&'a self, bytes: &[u8]) -> impl Iterator<Item = &'a MarkerEntry> {
        self.listed(bytes).iter().map(|index| &self.entries[*index as usize])
    }

    fn listed(&self, bytes: &[u8]) -> &[u16] {
        let row = bytes
            .first()
            .and_then(|first| self.rows.get((self.first[*first as usize] as usize).wrapping_sub(1)));
        match (row, bytes.get(1)) {
            (None, _) => &[],
            (Some(row), None) => &row.all,
            (Some(row), Some(second)) => &row.by_second[*second as usize],
        }
    }
}

fn add(entries: &mut Vec<MarkerEntry>, marker: &'static Marker) {
    let same = |entry: &&mut MarkerEntry| entry.text == marker.text && entry.at_line == marker.at_line;
    match entries.iter_mut().find(same) {
        Some(entry) => {
            if !entry.markers.iter().any(|known| std::ptr::fn_addr_eq(known.read, marker.read)) {
                entry.weak &= marker.weak;
                entry.markers.push(marker);
            }
        }
        None => {
            let Marker { text, at_line, weak, .. } = *marker;
            entries.push(MarkerEntry { text, at_line, weak, markers: vec![marker] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_is_found_wherever_it_stands() {
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
