//! The audit log: one line of JSON for each request that calls, finds or reads something, and for refusals.
//!
//! A line is written with one `write` to a file that is opened for appending, before the answer goes out: what a client has
//! seen is in the log, and lines of several replicas do not mix. Arguments are not written, only a keyed digest of them, by
//! which equal arguments can be recognised.

use super::audit_line::AuditRecord;
use super::refusals::RefusalCounts;
use crate::error::{ErrorKind, HubError, clip};
use crate::sync::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

enum AuditSink {
    File { path: PathBuf, file: File },
    Other(Box<dyn Write + Send>),
}

/// Where the lines go.
pub struct AuditLog {
    sink: Mutex<AuditSink>,
    refusals: RefusalCounts,
    /// For the digests of arguments.
    key: hmac::Key,
}

impl AuditLog {
    /// Appends to a file, which only its owner can read when it is made here.
    pub fn file(path: &Path) -> Result<Self, HubError> {
        let file = opened(path).map_err(|error| unwritable(path, &error))?;
        AuditLog::of(AuditSink::File { path: path.to_owned(), file })
    }

    pub fn writer(writer: impl Write + Send + 'static) -> Result<Self, HubError> {
        AuditLog::of(AuditSink::Other(Box::new(writer)))
    }

    /// With a key of this process alone: digests of two processes cannot be compared.
    fn of(sink: AuditSink) -> Result<Self, HubError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| HubError::new(ErrorKind::Limit, "Could not read random bytes from the OS."))?;
        Ok(AuditLog { sink: Mutex::new(sink), refusals: RefusalCounts::default(), key })
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
        let mut sink = self.sink.lock();
        if let AuditSink::File { path, file } = &mut *sink {
            *file = opened(path).map_err(|error| unwritable(path, &error))?;
        }
        Ok(())
    }

    /// Writes one line. A call whose line cannot be written must not be answered as if it were: the error says so.
    pub fn write(&self, record: &AuditRecord<'_>) -> Result<(), HubError> {
        let text = record.line(&self.key);
        let mut sink = self.sink.lock();
        let written = match &mut *sink {
            AuditSink::File { file, .. } => file.write_all(&text),
            AuditSink::Other(writer) => writer.write_all(&text).and_then(|()| writer.flush()),
        };
        written.map_err(|error| match &*sink {
            AuditSink::File { path, .. } => unwritable(path, &error),
            AuditSink::Other(_) => unwritable(Path::new("stderr"), &error),
        })
    }

    /// A request was refused before a method has read it. A client that tries again and again gets one line a second, with the number of tries.
    pub fn refused(&self, status: u16, principal: &str) {
        if let Some(counted) = self.refusals.count(status, principal, Instant::now()) {
            // The request is refused in any case.
            let _ = self.write(&counted.record());
        }
    }

    /// Writes the refusals that were counted and not written yet.
    pub fn settle(&self) {
        for counted in self.refusals.take() {
            let _ = self.write(&counted.record());
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

fn unwritable(path: &Path, error: &io::Error) -> HubError {
    let text = format!("The audit log '{}' cannot be written: {error}.", clip(&path.display().to_string()));
    HubError::new(ErrorKind::Limit, text)
}

#[cfg(test)]
mod tests {
    use super::super::audit_line::{AuditEvent, AuditOutcome};
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
            event: AuditEvent::Describe { tool: "t" },
            outcome: AuditOutcome::Ok,
            duration: Duration::ZERO,
        };
        log.write(&record).unwrap();
        std::fs::rename(&path, folder.join("old")).unwrap();
        log.reopen().unwrap();
        log.write(&record).unwrap();
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
