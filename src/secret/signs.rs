//! What a text must have for each way of finding secrets in it. Most texts have little of it, and are read once.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// One for each way of finding secrets.
#[derive(Clone, Copy, Debug)]
pub(super) enum SecretSign {
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
const SIGNS: &[(&str, SecretSign)] = &[
    ("=", SecretSign::Named),
    (":", SecretSign::Named),
    ("：", SecretSign::Named),
    ("assword ", SecretSign::Told),
    (" is ", SecretSign::Told),
    (" is:", SecretSign::Told),
    (" was ", SecretSign::Told),
    (" was:", SecretSign::Told),
    (" to ", SecretSign::Told),
    (" to:", SecretSign::Told),
    ("是", SecretSign::Told),
    ("为", SecretSign::Told),
    ("bearer", SecretSign::Bearer),
    ("://", SecretSign::Address),
    ("-", SecretSign::Flag),
    ("</", SecretSign::Element),
    ("value", SecretSign::Label),
    ("|", SecretSign::Row),
    ("%3d", SecretSign::Encoded),
    ("%3a", SecretSign::Encoded),
    ("digest ", SecretSign::Digest),
    ("('", SecretSign::Pair),
    ("(\"", SecretSign::Pair),
    ("(\\", SecretSign::Pair),
    ("['", SecretSign::Pair),
    ("[\"", SecretSign::Pair),
    ("[\\", SecretSign::Pair),
];

/// `None` if they cannot be compiled; a test does it.
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let signs = SIGNS.iter().map(|(text, _)| text);
    AhoCorasick::builder().ascii_case_insensitive(true).build(signs).ok()
});

/// The signs that a text has.
#[derive(Clone, Copy)]
pub(super) struct SecretSigns(u16);

impl SecretSigns {
    const ALL: SecretSigns = SecretSigns(u16::MAX);

    pub fn has(self, sign: SecretSign) -> bool {
        self.0 & (1 << sign as u16) != 0
    }
}

pub(super) fn signs_in(text: &str) -> SecretSigns {
    let Some(finder) = &*FINDER else { return SecretSigns::ALL };
    let found = finder.find_overlapping_iter(text);
    SecretSigns(found.fold(0, |signs, found| signs | 1 << SIGNS[found.pattern().as_usize()].1 as u16))
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
