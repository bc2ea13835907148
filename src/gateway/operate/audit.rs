//! The audit log: one line of JSON for each call of a tool.
//!
//! A line is written with one `write` to a file that is opened for appending, before the answer goes out: what a client has
//! seen is in the log, and lines of several replicas do not mix. Arguments are not written, only a digest of them, by which
//! equal arguments can be recognised.

use crate::error::{ErrorKind, HubError, clip};
use crate::sync::Mutex;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOutcome<'a> {
    Ok,
    /// With the kind of the error.
    Error(&'a str),
}

/// One call of a tool.
pub struct AuditRecord<'a> {
    pub time: SystemTime,
    /// Empty for the anonymous principal.
    pub principal: &'a str,
    /// Empty for the view that shows everything.
    pub view: &'a str,
    pub tool: &'a str,
    /// The label of the provider that answered.
    pub candidate: Option<&'a str>,
    pub arguments: &'a Value,
    pub outcome: AuditOutcome<'a>,
    pub duration: Duration,
}

#[derive(Serialize)]
struct AuditLine<'a> {
    time: String,
    principal: &'a str,
    view: &'a str,
    tool: &'a str,
    candidate: Option<&'a str>,
    arguments: String,
    outcome: &'a str,
    ms: f64,
}

enum AuditSink {
    File { path: PathBuf, file: File },
    Other(Box<dyn Write + Send>),
}

/// Where the lines go.
pub struct AuditLog(Mutex<AuditSink>);

impl AuditLog {
    /// Appends to a file, which only its owner can read when it is made here.
    pub fn file(path: &Path) -> Result<Self, HubError> {
        let file = opened(path).map_err(|error| unwritable(path, &error))?;
        Ok(AuditLog(Mutex::new(AuditSink::File { path: path.to_owned(), file })))
    }

    pub fn writer(writer: impl Write + Send + 'static) -> Self {
        AuditLog(Mutex::new(AuditSink::Other(Box::new(writer))))
    }

    /// Opens the file again by its name, after it was moved away.
    pub fn reopen(&self) -> Result<(), HubError> {
        let mut sink = self.0.lock();
        if let AuditSink::File { path, file } = &mut *sink {
            *file = opened(path).map_err(|error| unwritable(path, &error))?;
        }
        Ok(())
    }

    /// Writes one line. A call whose line cannot be written must not be answered as if it were: the error says so.
    pub fn write(&self, record: &AuditRecord<'_>) -> Result<(), HubError> {
        let line = AuditLine {
            time: timestamp(record.time),
            principal: record.principal,
            view: record.view,
            tool: record.tool,
            candidate: record.candidate,
            arguments: argument_digest(record.arguments),
            outcome: match record.outcome {
                AuditOutcome::Ok => "ok",
                AuditOutcome::Error(kind) => kind,
            },
            ms: (record.duration.as_secs_f64() * 1e6).round() / 1e3,
        };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        let mut sink = self.0.lock();
        let written = match &mut *sink {
            AuditSink::File { file, .. } => file.write_all(&text),
            AuditSink::Other(writer) => writer.write_all(&text).and_then(|()| writer.flush()),
        };
        written.map_err(|error| match &*sink {
            AuditSink::File { path, .. } => unwritable(path, &error),
            AuditSink::Other(_) => unwritable(Path::new("stderr"), &error),
        })
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

/// The SHA-256 of the arguments with sorted keys, so that their order does not matter.
fn argument_digest(arguments: &Value) -> String {
    fn object(map: &Map<String, Value>, text: &mut String) {
        let mut keys: Vec<&String> = map.keys().collect();
        keys.sort_unstable();
        text.push('{');
        for key in keys {
            text.push_str(&Value::String(key.clone()).to_string());
            text.push(':');
            canonical(&map[key], text);
            text.push(',');
        }
        text.push('}');
    }
    fn canonical(value: &Value, text: &mut String) {
        match value {
            Value::Object(map) => object(map, text),
            Value::Array(items) => {
                text.push('[');
                for item in items {
                    canonical(item, text);
                    text.push(',');
                }
                text.push(']');
            }
            other => text.push_str(&other.to_string()),
        }
    }
    let mut text = String::new();
    canonical(arguments, &mut text);
    let hash = digest(&SHA256, text.as_bytes());
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// RFC 3339 in UTC with milliseconds.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    // The civil date of a number of days (Howard Hinnant's algorithm), for dates after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn line(arguments: &Value, tool: &str, outcome: AuditOutcome<'_>) -> (String, Value) {
        let kept = Kept::default();
        let record = AuditRecord {
            time: UNIX_EPOCH + Duration::from_millis(1_800_000_000_123),
            principal: "token:ann",
            view: "ops",
            tool,
            candidate: Some("mcps:files"),
            arguments,
            outcome,
            duration: Duration::from_micros(1_500),
        };
        AuditLog::writer(kept.clone()).write(&record).unwrap();
        let text = String::from_utf8(kept.0.lock().clone()).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn a_line_has_all_that_an_auditor_needs_and_no_argument() {
        let (text, line) = line(&json!({"path": "hunter2"}), "read", AuditOutcome::Error("timeout"));
        assert!(!text.contains("hunter2"));
        assert_eq!(line["time"], "2027-01-15T08:00:00.123Z");
        assert_eq!((&line["principal"], &line["view"]), (&json!("token:ann"), &json!("ops")));
        assert_eq!((&line["tool"], &line["candidate"]), (&json!("read"), &json!("mcps:files")));
        assert_eq!((&line["outcome"], &line["ms"]), (&json!("timeout"), &json!(1.5)));
        assert_eq!(line["arguments"].as_str().unwrap().len(), "sha256:".len() + 64);
    }

    #[test]
    fn equal_arguments_have_equal_digests_in_any_order() {
        let of = |value: Value| argument_digest(&value);
        assert_eq!(
            of(json!({"a": 1, "b": {"c": [1], "d": 2}})),
            of(json!({"b": {"d": 2, "c": [1]}, "a": 1}))
        );
        assert_ne!(of(json!({"a": [1, 2]})), of(json!({"a": [2, 1]})));
        assert_ne!(of(json!({"a": "1"})), of(json!({"a": 1})));
        assert_ne!(of(json!({"a": {"b": 1}})), of(json!({"a": {}, "b": 1})));
    }

    #[test]
    fn days_become_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_file_that_was_moved_away_is_made_again() {
        let folder = std::env::temp_dir().join(format!("toolhub-audit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("audit.ndjson");
        let log = AuditLog::file(&path).unwrap();
        let arguments = json!({});
        let record = AuditRecord {
            time: UNIX_EPOCH,
            principal: "",
            view: "",
            tool: "t",
            candidate: None,
            arguments: &arguments,
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

    proptest! {
        #[test]
        fn any_tool_name_stays_on_one_line(tool in ".{0,80}", key in ".{0,20}") {
            let (text, value) = line(&json!({key: 1}), &tool, AuditOutcome::Ok);
            prop_assert_eq!(text.matches('\n').count(), 1);
            prop_assert_eq!(value["tool"].as_str(), Some(tool.as_str()));
        }
    }
}
