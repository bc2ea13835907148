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
pub struct SessionLevels(Mutex<HashMap<Arc<str>, LogLevel>>);

impl SessionLevels {
    pub fn set(&self, session: Arc<str>, level: LogLevel) {
        let mut levels = self.0.lock();
        if levels.len() >= MOST_SESSIONS && !levels.contains_key(&session) {
            let dropped = levels.keys().next().cloned();
            dropped.and_then(|dropped| levels.remove(&dropped));
        }
        levels.insert(session, level);
    }

    pub fn of(&self, session: Option<&str>) -> LogLevel {
        let set = session.and_then(|session| self.0.lock().get(session).copied());
        set.unwrap_or(LogLevel::Info)
    }

    /// The session has ended.
    pub fn forget(&self, session: &str) {
        self.0.lock().remove(session);
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
        assert_eq!(levels.0.lock().len(), MOST_SESSIONS);
        let last = (MOST_SESSIONS + 9).to_string();
        assert_eq!(levels.of(Some(&last)), LogLevel::Error);
        levels.forget(&last);
        assert_eq!(levels.of(Some(&last)), LogLevel::Info);
        assert_eq!(levels.of(None), LogLevel::Info);
        assert!(LogLevel::Debug < LogLevel::Emergency);
        assert_eq!(LogLevel::parse("verbose"), None);
    }
}
