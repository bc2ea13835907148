//! Words that mean the opposite of each other: who wants the lights off does not want them on.

use crate::text::{ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

const PAIRS: &str = "on off, open close, start stop, enable disable, activate deactivate, increase decrease, raise lower, \
connect disconnect, encrypt decrypt, upload download, import export, attach detach, pause resume, arm disarm, accept decline, accept reject, \
approve reject, allow deny, grant revoke, show hide, expand collapse, login logout, push pull, buy sell, mount umount, engage disengage, \
compress decompress, promote demote, upgrade downgrade, freeze thaw, begin end, join leave";

/// Those of the table, and verbs with and without `un` in front.
static OPPOSITES: LazyLock<HashMap<&'static str, Vec<&'static str>, RandomState>> = LazyLock::new(|| {
    let paired = PAIRS.split(',').filter_map(|pair| pair.trim().split_once(' '));
    let acting = ACTING.iter().chain(ACTING_OR_NOUN).chain(ACTING_WHEN_LEADING);
    let undone = acting.filter_map(|verb| Some((verb.strip_prefix("un")?, *verb)));
    let mut opposites: HashMap<_, Vec<_>, _> = HashMap::default();
    for (one, other) in paired.chain(undone) {
        opposites.entry(one).or_default().push(other);
        opposites.entry(other).or_default().push(one);
    }
    opposites
});

pub fn opposites(word: &str) -> &'static [&'static str] {
    OPPOSITES.get(word).map_or(&[], Vec::as_slice)
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
            assert!(opposites(one).contains(&other), "{one}");
            assert!(opposites(other).contains(&one), "{other}");
        }
        for word in ["weather", "it", "der", "til"] {
            assert!(opposites(word).is_empty(), "{word}");
        }
    }
}
