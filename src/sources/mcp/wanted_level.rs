//! `logging/setLevel` of legacy servers: a connection gets the lowest level that any client of the served hub wants, and each
//! client then sees what it wants of it. Modern servers get the level in each request.

use parking_lot::Mutex;
use std::sync::Arc;

/// What a server sends when no client wants more; the protocol has no way to take a level back.
const USUAL: &str = "info";

/// The level that clients want. All servers of a hub share it.
#[derive(Clone, Default)]
pub struct WantedLevel(Arc<Mutex<LevelState>>);

#[derive(Default)]
struct LevelState {
    level: Option<&'static str>,
    /// A level was sent to servers once.
    was_set: bool,
}

impl WantedLevel {
    /// The lowest level that a client wants now; `None` if no client has named one. False if nothing has changed.
    pub fn set(&self, level: Option<&'static str>) -> bool {
        let mut state = self.0.lock();
        let is_new = state.level != level;
        state.was_set |= level.is_some();
        state.level = level;
        is_new
    }

    /// What servers shall be told; `None` if nothing.
    pub fn to_send(&self) -> Option<&'static str> {
        let state = self.0.lock();
        state.level.or(state.was_set.then_some(USUAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_hear_of_a_level_only_after_a_client_has_named_one() {
        let wanted = WantedLevel::default();
        assert!(!wanted.set(None));
        assert_eq!(wanted.to_send(), None);
        assert!(wanted.set(Some("debug")) && !wanted.set(Some("debug")));
        assert_eq!(wanted.to_send(), Some("debug"));
        assert!(wanted.set(None));
        assert_eq!(wanted.to_send(), Some(USUAL));
    }
}
