//! How much of the log of calls clients see.

use super::by_principal::PrincipalTable;
use std::sync::Arc;
use toolhub_types::sync::Mutex;

/// The levels of syslog, the least important one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    pub fn parse(name: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The sessions whose level is kept at once.
const MOST_SESSIONS: usize = 10_000;

/// The levels that legacy clients have set. They are kept by the replica that was asked, for a limited number of sessions; a
/// session without one gets [`LogLevel::Info`] and above.
pub struct SessionLevels(Mutex<LevelTable>);

struct LevelTable {
    by_session: PrincipalTable<Arc<str>, LogLevel>,
    /// How many sessions have each level.
    counts: [usize; LogLevel::ALL.len()],
}

impl Default for SessionLevels {
    fn default() -> Self {
        let (by_session, counts) = (PrincipalTable::new(MOST_SESSIONS), Default::default());
        SessionLevels(Mutex::new(LevelTable { by_session, counts }))
    }
}

impl SessionLevels {
    pub fn set(&self, principal: &str, session: Arc<str>, level: LogLevel) {
        let mut table = self.0.lock();
        if let Some(gone) = table.by_session.insert(principal, session, level) {
            table.counts[gone as usize] -= 1;
        }
        table.counts[level as usize] += 1;
    }

    pub fn of(&self, principal: &str, session: Option<&str>) -> LogLevel {
        let set = session.and_then(|session| self.0.lock().by_session.get(principal, session).copied());
        set.unwrap_or(LogLevel::Info)
    }

    /// The lowest level that a session has set.
    pub fn lowest(&self) -> Option<LogLevel> {
        let table = self.0.lock();
        LogLevel::ALL.into_iter().find(|level| table.counts[*level as usize] > 0)
    }

    /// The session has ended. True if it had set a level.
    pub fn forget(&self, principal: &str, session: &str) -> bool {
        let mut table = self.0.lock();
        let removed = table.by_session.remove(principal, session);
        if let Some(level) = removed {
            table.counts[level as usize] -= 1;
        }
        removed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_kept_for_a_limited_number_of_sessions() {
        let levels = SessionLevels::default();
        for number in 0..MOST_SESSIONS + 10 {
            levels.set("ann", Arc::from(format!("{number:09}")), LogLevel::Error);
        }
        assert_eq!(levels.0.lock().by_session.len(), MOST_SESSIONS);
        assert_eq!(levels.0.lock().counts.iter().sum::<usize>(), MOST_SESSIONS);
        let last = format!("{:09}", MOST_SESSIONS + 9);
        assert_eq!(levels.of("ann", Some(&last)), LogLevel::Error);
        levels.forget("ann", &last);
        assert_eq!(levels.of("ann", Some(&last)), LogLevel::Info);
        assert_eq!(levels.of("ann", None), LogLevel::Info);
        assert!(LogLevel::Debug < LogLevel::Emergency);
        assert_eq!(LogLevel::parse("verbose"), None);
    }

    #[test]
    fn a_caller_with_many_sessions_takes_no_level_from_others() {
        let levels = SessionLevels::default();
        levels.set("bob", Arc::from("0"), LogLevel::Debug);
        for number in 0..2 * MOST_SESSIONS {
            levels.set("ann", Arc::from(number.to_string()), LogLevel::Error);
        }
        assert_eq!(levels.of("bob", Some("0")), LogLevel::Debug);
        assert_eq!(levels.of("ann", Some("0")), LogLevel::Info, "a session belongs to its caller");
        assert_eq!(levels.lowest(), Some(LogLevel::Debug));
    }

    #[test]
    fn the_lowest_level_is_the_one_that_any_session_wants() {
        let levels = SessionLevels::default();
        assert_eq!(levels.lowest(), None);
        levels.set("ann", Arc::from("a"), LogLevel::Error);
        levels.set("ann", Arc::from("b"), LogLevel::Debug);
        levels.set("ann", Arc::from("b"), LogLevel::Debug);
        assert_eq!(levels.lowest(), Some(LogLevel::Debug));
        levels.set("ann", Arc::from("b"), LogLevel::Warning);
        assert_eq!(levels.lowest(), Some(LogLevel::Warning));
        assert!(levels.forget("ann", "b") && !levels.forget("ann", "b"));
        assert_eq!(levels.lowest(), Some(LogLevel::Error));
    }
}
