//! The audit log: one line of JSON for each request that calls, finds or reads something, and for refusals.
//!
//! A call that may act has a line before it is sent: no line, no call. All lines are written before the answers go out, unless
//! the disk is slow or full: then reads are answered, and what is lost is counted. Arguments are not written, only a keyed
//! digest of them, by which equal arguments can be recognised.

use super::audit_line::{AuditEvent, AuditRecord};
use super::audit_writer::{AuditSink, AuditWriter};
use crate::session::random;
use ring::hmac;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use toolhub_types::error::HubError;
use toolhub_types::sync::{Arc, Mutex};

/// Where the lines go.
pub struct AuditLog {
    pub writer: AuditWriter,
    refusals: RefusalCounts,
    /// For the digests of arguments.
    key: hmac::Key,
    next_call: AtomicU64,
}

impl AuditLog {
    /// Appends to a file, which only its owner can read when it is made here.
    pub fn file(path: &Path) -> Result<Self, HubError> {
        AuditLog::of(AuditSink::file(path)?)
    }

    pub fn writer(writer: impl Write + Send + 'static) -> Result<Self, HubError> {
        AuditLog::of(AuditSink::new(None, Box::new(writer)))
    }

    /// With a key of this process alone: digests of two processes cannot be compared.
    fn of(sink: AuditSink) -> Result<Self, HubError> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?);
        let [a, b, c] = random()?;
        // Numbers of several replicas differ, and readers that have floats only read them exactly.
        let next_call = AtomicU64::new(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]) << 28);
        Ok(AuditLog { writer: AuditWriter::new(sink), refusals: RefusalCounts::default(), key, next_call })
    }

    /// Equal arguments have equal digests in all processes that share this secret.
    pub fn with_secret(self, secret: &str) -> Self {
        // A key of its own: what signs sessions signs nothing else.
        let derived =
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), b"toolhub audit arguments");
        AuditLog { key: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()), ..self }
    }

    /// The number of a call, which its lines share.
    pub fn next_call(&self) -> u64 {
        self.next_call.fetch_add(1, Ordering::Relaxed)
    }

    /// The line of something that is about to be done. It must not be done if the line cannot be written.
    pub async fn begin(&self, record: &AuditRecord<'_>) -> Result<(), HubError> {
        self.writer.write(record.line(&self.key)).await
    }

    /// The line of something that was done. Its answer waits for [`AuditWriter::caught_up`].
    pub fn write(&self, record: &AuditRecord<'_>) {
        self.writer.queue(record.line(&self.key));
    }

    /// A request was refused before a method has read it. A client that tries again and again gets one line a second, with the number of tries.
    pub fn refused(&self, status: u16, principal: &str) {
        if let Some(counted) = self.refusals.count(status, principal, Instant::now()) {
            self.write(&counted.record());
        }
    }

    /// Writes the refusals that were counted and not written yet.
    pub fn settle(&self) {
        for counted in self.refusals.take() {
            self.write(&counted.record());
        }
    }
}

/// One line for each status and principal in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(1);
/// The principals that are counted apart; others are counted together.
const MOST_KEYS: usize = 1_000;

/// The status of the answer, and the id of the principal.
type RefusalKey = (u16, Arc<str>);

struct RefusalCount {
    written_at: Instant,
    /// Since the last line.
    count: u64,
}

#[derive(Default)]
pub struct RefusalCounts(Mutex<HashMap<RefusalKey, RefusalCount>>);

/// Refusals that are due for a line.
#[derive(Debug, PartialEq, Eq)]
pub struct CountedRefusals {
    status: u16,
    principal: Arc<str>,
    count: u64,
}

impl CountedRefusals {
    pub fn record(&self) -> AuditRecord<'_> {
        let event = AuditEvent::Refusal { status: self.status, count: self.count };
        AuditRecord::new(SystemTime::now(), &self.principal, event, reason(self.status))
    }
}

/// The kind of error that stands for a status.
fn reason(status: u16) -> &'static str {
    match status {
        401 => "auth",
        403 => "not_allowed",
        404 => "not_found",
        408 => "timeout",
        413 | 431 => "limit",
        429 => "overloaded",
        503 => "closed",
        _ => "protocol",
    }
}

impl RefusalCounts {
    /// Counts one; returns what is due for a line now.
    pub fn count(&self, status: u16, principal: &str, now: Instant) -> Option<CountedRefusals> {
        let mut counts = self.0.lock();
        let mut key = (status, Arc::from(principal));
        if !counts.contains_key(&key) && counts.len() >= MOST_KEYS {
            // Those without tries to report are forgotten first.
            counts.retain(|_, one| one.count > 0 || now - one.written_at < BETWEEN_LINES);
            if counts.len() >= MOST_KEYS {
                key.1 = Arc::from("");
            }
        }
        let Some(one) = counts.get_mut(&key) else {
            counts.insert(key.clone(), RefusalCount { written_at: now, count: 0 });
            return Some(CountedRefusals { status, principal: key.1, count: 1 });
        };
        one.count += 1;
        if now.saturating_duration_since(one.written_at) < BETWEEN_LINES {
            return None;
        }
        one.written_at = now;
        Some(CountedRefusals { status, principal: key.1, count: std::mem::take(&mut one.count) })
    }

    /// Takes all that was counted and not written yet.
    pub fn take(&self) -> Vec<CountedRefusals> {
        let counts = std::mem::take(&mut *self.0.lock());
        let left = counts.into_iter().filter(|(_, one)| one.count > 0);
        left.map(|((status, principal), one)| CountedRefusals { status, principal, count: one.count })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::audit_line::{AuditEvent, OK};
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_file_that_was_moved_away_is_made_again() {
        let folder = std::env::temp_dir().join(format!("toolhub-audit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("audit.ndjson");
        let log = AuditLog::file(&path).unwrap();
        let record = AuditRecord {
            time: UNIX_EPOCH,
            principal: "",
            view: "",
            session: "",
            trace: "",
            event: AuditEvent::Describe { tool: "t" },
            outcome: OK,
            duration: Duration::ZERO,
        };
        log.write(&record);
        std::fs::rename(&path, folder.join("old")).unwrap();
        log.writer.reopen().unwrap();
        log.write(&record);
        let lines = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap().lines().count();
        assert_eq!((lines("old"), lines("audit.ndjson")), (1, 1));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(AuditLog::file(&folder.join("none/audit")).is_err());
    }
}

#[cfg(test)]
mod refusals_tests {
    use super::*;

    #[test]
    fn tries_in_a_second_share_a_line() {
        let (counts, begun) = (RefusalCounts::default(), Instant::now());
        let after = |ms: u64| begun + Duration::from_millis(ms);
        let counted = |count| CountedRefusals { status: 401, principal: Arc::from(""), count };
        assert_eq!(counts.count(401, "", begun), Some(counted(1)));
        for ms in 1..500 {
            assert_eq!(counts.count(401, "", after(ms)), None);
        }
        assert!(counts.count(429, "token:ann", after(500)).is_some(), "another status has lines of its own");
        assert_eq!(counts.count(401, "", after(1_000)), Some(counted(500)));
        assert_eq!(counts.count(401, "", after(1_001)), None);
        assert_eq!(counts.take(), [counted(1)]);
        assert_eq!(counts.take(), []);
    }

    #[test]
    fn principals_are_bounded_and_none_is_lost() {
        let (counts, now) = (RefusalCounts::default(), Instant::now());
        let mut all = 0;
        for round in 0..2 {
            for number in 0..MOST_KEYS + 50 {
                let counted = counts.count(429, &format!("jwt:{number}"), now);
                all += counted.map_or(0, |counted| counted.count);
                assert!(counts.0.lock().len() <= MOST_KEYS + 1, "round {round}");
            }
        }
        all += counts.take().iter().map(|counted| counted.count).sum::<u64>();
        assert_eq!(all, 2 * (MOST_KEYS as u64 + 50));
    }
}
