//! The audit log: one line of JSON for each request that calls, finds or reads something, and for refusals.
//!
//! A call that may act has a line before it is sent: no line, no call. All lines are written before the answers go out, unless
//! the disk is slow or full: then reads are answered, and what is lost is counted. Arguments are not written, only a keyed
//! digest of them, by which equal arguments can be recognised.

use super::audit_line::AuditRecord;
use super::audit_writer::{AuditSink, AuditWriter};
use super::refusals::RefusalCounts;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use toolhub_types::error::{ErrorKind, HubError};

/// Where the lines go.
pub struct AuditLog {
    writer: AuditWriter,
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
        AuditLog::of(AuditSink::Other(Box::new(writer)))
    }

    /// With a key of this process alone: digests of two processes cannot be compared.
    fn of(sink: AuditSink) -> Result<Self, HubError> {
        let no_random = |_| HubError::new(ErrorKind::Limit, "Could not read random bytes from the OS.");
        let random = SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).map_err(no_random)?;
        let mut first = [0; 8];
        random.fill(&mut first[..3]).map_err(no_random)?;
        // Numbers of several replicas differ, and readers that have floats only read them exactly.
        let next_call = AtomicU64::new(u64::from_le_bytes(first) << 28);
        Ok(AuditLog { writer: AuditWriter::new(sink), refusals: RefusalCounts::default(), key, next_call })
    }

    /// Equal arguments have equal digests in all processes that share this secret.
    pub fn with_secret(self, secret: &str) -> Self {
        // A key of its own: what signs sessions signs nothing else.
        let derived =
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), b"toolhub audit arguments");
        AuditLog { key: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()), ..self }
    }

    /// Opens the file again by its name, after it was moved away.
    pub fn reopen(&self) -> Result<(), HubError> {
        self.writer.reopen()
    }

    /// The number of a call, which its lines share.
    pub fn next_call(&self) -> u64 {
        self.next_call.fetch_add(1, Ordering::Relaxed)
    }

    /// The line of something that is about to be done. It must not be done if the line cannot be written.
    pub async fn begin(&self, record: &AuditRecord<'_>) -> Result<(), HubError> {
        self.writer.write(record.line(&self.key)).await
    }

    /// The line of something that was done. Its answer waits for [`AuditLog::caught_up`].
    pub fn write(&self, record: &AuditRecord<'_>) {
        self.writer.queue(record.line(&self.key));
    }

    /// Returns when what was written before is in the log, or at once while that takes long.
    pub async fn caught_up(&self) {
        self.writer.caught_up().await;
    }

    /// The lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.writer.lost()
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
        log.reopen().unwrap();
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
