//! How much of the log of calls clients see.

use crate::session::by_principal::PrincipalTable;
use std::sync::Arc;
use toolhub_protocol::LogLevel;
use toolhub_types::sync::Mutex;

/// A session that has set no level gets this one and above.
const USUAL: LogLevel = LogLevel::INFO;
/// The sessions whose level is kept at once.
const MOST_SESSIONS: usize = 10_000;

/// The levels that legacy clients have set. They are kept by the replica that was asked, for a limited number of sessions.
pub struct SessionLevels(Mutex<PrincipalTable<Arc<str>, LogLevel>>);

impl Default for SessionLevels {
    fn default() -> Self {
        SessionLevels(Mutex::new(PrincipalTable::new(MOST_SESSIONS)))
    }
}

impl SessionLevels {
    pub fn set(&self, principal: &str, session: Arc<str>, level: LogLevel) {
        self.0.lock().insert(principal, session, level);
    }

    pub fn of(&self, principal: &str, session: Option<&str>) -> LogLevel {
        let set = session.and_then(|session| self.0.lock().get(principal, session).copied());
        set.unwrap_or(USUAL)
    }

    /// The lowest level that a session has set.
    pub fn lowest(&self) -> Option<LogLevel> {
        self.0.lock().values().min().copied()
    }

    /// The session has ended. True if it had set a level.
    pub fn forget(&self, principal: &str, session: &str) -> bool {
        self.0.lock().remove(principal, session).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str) -> LogLevel {
        LogLevel::parse(name).unwrap()
    }

    #[test]
    fn levels_are_kept_for_a_limited_number_of_sessions() {
        let levels = SessionLevels::default();
        for number in 0..MOST_SESSIONS + 10 {
            levels.set("ann", Arc::from(format!("{number:09}")), level("error"));
        }
        assert_eq!(levels.0.lock().len(), MOST_SESSIONS);
        let last = format!("{:09}", MOST_SESSIONS + 9);
        assert_eq!(levels.of("ann", Some(&last)), level("error"));
        levels.forget("ann", &last);
        assert_eq!(levels.of("ann", Some(&last)), level("info"));
        assert_eq!(levels.of("ann", None), level("info"));
        assert!(level("debug") < level("emergency"));
        assert_eq!(LogLevel::parse("verbose"), None);
    }

    #[test]
    fn a_caller_with_many_sessions_takes_no_level_from_others() {
        let levels = SessionLevels::default();
        levels.set("bob", Arc::from("0"), level("debug"));
        for number in 0..2 * MOST_SESSIONS {
            levels.set("ann", Arc::from(number.to_string()), level("error"));
        }
        assert_eq!(levels.of("bob", Some("0")), level("debug"));
        assert_eq!(levels.of("ann", Some("0")), level("info"), "a session belongs to its caller");
        assert_eq!(levels.lowest(), Some(level("debug")));
    }

    #[test]
    fn the_lowest_level_is_the_one_that_any_session_wants() {
        let levels = SessionLevels::default();
        assert_eq!(levels.lowest(), None);
        levels.set("ann", Arc::from("a"), level("error"));
        levels.set("ann", Arc::from("b"), level("debug"));
        levels.set("ann", Arc::from("b"), level("debug"));
        assert_eq!(levels.lowest(), Some(level("debug")));
        levels.set("ann", Arc::from("b"), level("warning"));
        assert_eq!(levels.lowest(), Some(level("warning")));
        assert!(levels.forget("ann", "b") && !levels.forget("ann", "b"));
        assert_eq!(levels.lowest(), Some(level("error")));
    }
}
