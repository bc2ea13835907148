//! What a text must have for each way of finding secrets in it. Most texts have little of it, and are read once.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// One for each way of finding secrets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    Named,
    Told,
    Bearer,
    Address,
    Flag,
    Element,
    Label,
    Row,
    Encoded,
    Digest,
    Pair,
}

/// In any case of letters.
const SIGNS: &[(&str, Sign)] = &[
    ("=", Sign::Named),
    (":", Sign::Named),
    ("：", Sign::Named),
    ("assword ", Sign::Told),
    (" is ", Sign::Told),
    (" is:", Sign::Told),
    (" was ", Sign::Told),
    (" was:", Sign::Told),
    (" to ", Sign::Told),
    (" to:", Sign::Told),
    ("是", Sign::Told),
    ("为", Sign::Told),
    ("bearer", Sign::Bearer),
    ("://", Sign::Address),
    ("-", Sign::Flag),
    ("</", Sign::Element),
    ("value", Sign::Label),
    ("|", Sign::Row),
    ("%3d", Sign::Encoded),
    ("%3a", Sign::Encoded),
    ("digest ", Sign::Digest),
    ("('", Sign::Pair),
    ("(\"", Sign::Pair),
    ("(\\", Sign::Pair),
    ("['", Sign::Pair),
    ("[\"", Sign::Pair),
    ("[\\", Sign::Pair),
];

/// `None` if they cannot be compiled; a test does it.
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let signs = SIGNS.iter().map(|(text, _)| text);
    AhoCorasick::builder().ascii_case_insensitive(true).build(signs).ok()
});

/// The signs that a text has.
#[derive(Clone, Copy)]
pub(super) struct Signs(u16);

impl Signs {
    const ALL: Signs = Signs(u16::MAX);

    pub fn has(self, sign: Sign) -> bool {
        self.0 & (1 << sign as u16) != 0
    }
}

pub(super) fn signs_in(text: &str) -> Signs {
    let Some(finder) = &*FINDER else { return Signs::ALL };
    let found = finder.find_overlapping_iter(text);
    Signs(found.fold(0, |signs, found| signs | 1 << SIGNS[found.pattern().as_usize()].1 as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_is_found_in_any_case_and_no_other() {
        assert!(FINDER.is_some());
        for (text, sign) in SIGNS {
            assert!(signs_in(&format!("x{}x", text.to_uppercase())).has(*sign), "{text}");
        }
        assert_eq!(signs_in("The quick brown fox. 敏捷的棕色狐狸").0, 0);
    }
}
