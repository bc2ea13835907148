//! How important a log message is.

/// The levels of syslog, the least important one first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The place of a level among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogLevel(usize);

impl LogLevel {
    pub const INFO: LogLevel = LogLevel(1);

    pub fn name(self) -> &'static str {
        LEVELS[self.0]
    }

    pub fn parse(name: &str) -> Option<LogLevel> {
        LEVELS.iter().position(|level| *level == name).map(LogLevel)
    }
}
