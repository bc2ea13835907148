//! How much of the log of calls clients see.

use crate::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

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
#[derive(Default)]
pub struct SessionLevels(Mutex<LevelTable>);

#[derive(Default)]
struct LevelTable {
    by_session: HashMap<Arc<str>, LogLevel>,
    /// How many sessions have each level.
    counts: [usize; LogLevel::ALL.len()],
}

impl LevelTable {
    fn remove(&mut self, session: &str) -> bool {
        let removed = self.by_session.remove(session);
        if let Some(level) = removed {
            self.counts[level as usize] -= 1;
        }
        removed.is_some()
    }
}

impl SessionLevels {
    pub fn set(&self, session: Arc<str>, level: LogLevel) {
        let mut table = self.0.lock();
        if !table.remove(&session) && table.by_session.len() >= MOST_SESSIONS {
            let dropped = table.by_session.keys().next().cloned();
            dropped.map(|dropped| table.remove(&dropped));
        }
        table.by_session.insert(session, level);
        table.counts[level as usize] += 1;
    }

    pub fn of(&self, session: Option<&str>) -> LogLevel {
        let set = session.and_then(|session| self.0.lock().by_session.get(session).copied());
        set.unwrap_or(LogLevel::Info)
    }

    /// The lowest level that a session has set.
    pub fn lowest(&self) -> Option<LogLevel> {
        let table = self.0.lock();
        LogLevel::ALL.into_iter().find(|level| table.counts[*level as usize] > 0)
    }

    /// The session has ended. True if it had set a level.
    pub fn forget(&self, session: &str) -> bool {
        self.0.lock().remove(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_kept_for_a_limited_number_of_sessions() {
        let levels = SessionLevels::default();
        for number in 0..MOST_SESSIONS + 10 {
            levels.set(Arc::from(number.to_string()), LogLevel::Error);
        }
        assert_eq!(levels.0.lock().by_session.len(), MOST_SESSIONS);
        assert_eq!(levels.0.lock().counts.iter().sum::<usize>(), MOST_SESSIONS);
        let last = (MOST_SESSIONS + 9).to_string();
        assert_eq!(levels.of(Some(&last)), LogLevel::Error);
        levels.forget(&last);
        assert_eq!(levels.of(Some(&last)), LogLevel::Info);
        assert_eq!(levels.of(None), LogLevel::Info);
        assert!(LogLevel::Debug < LogLevel::Emergency);
        assert_eq!(LogLevel::parse("verbose"), None);
    }

    #[test]
    fn the_lowest_level_is_the_one_that_any_session_wants() {
        let levels = SessionLevels::default();
        assert_eq!(levels.lowest(), None);
        levels.set(Arc::from("a"), LogLevel::Error);
        levels.set(Arc::from("b"), LogLevel::Debug);
        levels.set(Arc::from("b"), LogLevel::Debug);
        assert_eq!(levels.lowest(), Some(LogLevel::Debug));
        levels.set(Arc::from("b"), LogLevel::Warning);
        assert_eq!(levels.lowest(), Some(LogLevel::Warning));
        assert!(levels.forget("b") && !levels.forget("b"));
        assert_eq!(levels.lowest(), Some(LogLevel::Error));
    }
}
