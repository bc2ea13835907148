//! Words that mean the opposite of each other: who wants the lights off does not want them on.

use super::verbs::acts;

const PAIRS: &str = "on off, open close, start stop, enable disable, activate deactivate, increase decrease, raise lower, \
connect disconnect, encrypt decrypt, upload download, import export, attach detach, pause resume, arm disarm, accept decline, accept reject, \
approve reject, allow deny, grant revoke, show hide, expand collapse, login logout, push pull, buy sell, mount umount, engage disengage, \
compress decompress, promote demote, upgrade downgrade, freeze thaw, begin end, join leave";

/// The opposites of a word: those of the table, and with `un` in front.
pub fn opposites(word: &str) -> impl Iterator<Item = String> {
    let pairs = PAIRS.split(',').filter_map(|pair| pair.trim().split_once(' '));
    let paired = pairs.filter_map(move |(a, b)| match word {
        _ if word == a => Some(b.to_owned()),
        _ if word == b => Some(a.to_owned()),
        _ => None,
    });
    let undone = Some(format!("un{word}")).filter(|other| acts(other).is_some());
    let done = word.strip_prefix("un").filter(|_| acts(word).is_some()).map(str::to_owned);
    paired.chain(undone).chain(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_go_both_ways() {
        for (one, other) in [
            ("on", "off"),
            ("lock", "unlock"),
            ("merge", "unmerge"),
            ("subscribe", "unsubscribe"),
            ("start", "stop"),
        ] {
            assert!(opposites(one).any(|word| word == other), "{one}");
            assert!(opposites(other).any(|word| word == one), "{other}");
        }
        for word in ["weather", "it", "der", "til"] {
            assert_eq!(opposites(word).count(), 0, "{word}");
        }
    }
}
