//! The audit log: one line of JSON for each request that calls, finds or reads something, and for refusals.
//!
//! A call that may act has a line before it is sent: no line, no call. All lines are written before the answers go out, unless
//! the disk is slow or full: then reads are answered, and what is lost is counted. Arguments are not written, only a keyed
//! digest of them, by which equal arguments can be recognised.

use super::audit_writer::{AuditSink, AuditWriter};
use crate::session::random;
use ring::hmac;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use toolhub_store::cassette::{VERSION, timestamp};
use toolhub_text::canonical::canonical;
use toolhub_types::error::{Result, clip};
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
    pub fn file(path: &Path) -> Result<Self> {
        AuditLog::of(AuditSink::file(path)?)
    }

    pub fn writer(writer: impl Write + Send + 'static) -> Result<Self> {
        AuditLog::of(AuditSink::new(None, Box::new(writer)))
    }

    /// With a key of this process alone: digests of two processes cannot be compared.
    fn of(sink: AuditSink) -> Result<Self> {
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
    pub async fn begin(&self, record: &AuditRecord<'_>) -> Result<()> {
        self.writer.write(record.line(&self.key)).await
    }

    /// The line of something that was done. Its answer waits for [`AuditWriter::caught_up`].
    pub fn write(&self, record: &AuditRecord<'_>) {
        self.writer.queue(record.line(&self.key));
    }

    /// A request was refused before a method has read it. A client that tries again and again gets one line a second, with the number of tries.
    pub fn refused(&self, status: u16, principal: &str) {
        self.write_refusals(self.refusals.count(status, principal, Instant::now()));
    }

    /// Writes the refusals that were counted and not written yet.
    pub fn settle(&self) {
        self.write_refusals(self.refusals.take());
    }

    fn write_refusals(&self, due: impl IntoIterator<Item = DueRefusals>) {
        for ((status, principal), count) in due {
            let event = AuditEvent::Refusal { status, count };
            self.write(&AuditRecord::new(SystemTime::now(), &principal, event, reason(status)));
        }
    }
}

/// One line for each status and principal in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(1);
/// The principals that are counted apart; others are counted together.
const MOST_KEYS: usize = 1_000;

/// The status of the answer, and the id of the principal.
type RefusalKey = (u16, Arc<str>);

/// Refusals that are due for a line, and how many they are.
type DueRefusals = (RefusalKey, u64);

#[derive(Default)]
struct RefusalCount {
    written_at: Option<Instant>,
    /// Since the last line.
    count: u64,
}

impl RefusalCount {
    fn was_written_just_before(&self, now: Instant) -> bool {
        self.written_at.is_some_and(|at| now.saturating_duration_since(at) < BETWEEN_LINES)
    }
}

#[derive(Default)]
pub struct RefusalCounts(Mutex<HashMap<RefusalKey, RefusalCount>>);

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
    pub fn count(&self, status: u16, principal: &str, now: Instant) -> Option<DueRefusals> {
        let mut counts = self.0.lock();
        let mut key = (status, Arc::from(principal));
        if !counts.contains_key(&key) && counts.len() >= MOST_KEYS {
            // Those without tries to report are forgotten first.
            counts.retain(|_, one| one.count > 0 || one.was_written_just_before(now));
            if counts.len() >= MOST_KEYS {
                key.1 = Arc::from("");
            }
        }
        let one = counts.entry(key.clone()).or_default();
        one.count += 1;
        if one.was_written_just_before(now) {
            return None;
        }
        one.written_at = Some(now);
        Some((key, std::mem::take(&mut one.count)))
    }

    /// Takes all that was counted and not written yet.
    pub fn take(&self) -> Vec<DueRefusals> {
        let counts = std::mem::take(&mut *self.0.lock());
        counts.into_iter().map(|(key, one)| (key, one.count)).filter(|(_, count)| *count > 0).collect()
    }
}

/// The outcomes of a request that has not ended, and of one that has succeeded.
pub const BEGUN: &str = "begun";
pub const OK: &str = "ok";

/// What was done.
#[derive(Clone, Copy, Debug)]
pub enum AuditEvent<'a> {
    /// A call that may act is about to be sent to this provider.
    Begin { tool: &'a str, candidate: &'a str, arguments: &'a Value, call: u64 },
    /// A call of a tool, and the label of the provider that answered. Its number is that of its beginning.
    Call { tool: &'a str, candidate: Option<&'a str>, arguments: &'a Value, call: Option<u64> },
    /// A search for tools.
    Search { arguments: &'a Value },
    /// A look at the definition of a tool.
    Describe { tool: &'a str },
    /// A resource that was read.
    Resource { uri: &'a str },
    /// A prompt that was filled in.
    Prompt { prompt: &'a str, arguments: &'a Value },
    /// A decision of the operator about a call that waits.
    Approval { id: &'a str, is_approved: bool },
    /// Requests that were refused before a method has read them, with the status of the answer.
    Refusal { status: u16, count: u64 },
}

/// One line of the log.
pub struct AuditRecord<'a> {
    pub time: SystemTime,
    /// Empty for the anonymous principal, and where it is not known.
    pub principal: &'a str,
    /// Empty for the view that shows everything.
    pub view: &'a str,
    /// Empty without one.
    pub session: &'a str,
    /// The id of the client's trace; empty without one.
    pub trace: &'a str,
    pub event: AuditEvent<'a>,
    /// [`BEGUN`], [`OK`], or the kind of the error.
    pub outcome: &'a str,
    pub duration: Duration,
}

impl AuditEvent<'_> {
    /// Its fields. Names come from clients, so they are cut to a length that a log can hold.
    fn fields(self, key: &hmac::Key) -> Value {
        let digest = |arguments| keyed_digest(arguments, key);
        match self {
            AuditEvent::Begin { tool, candidate, arguments, call } => {
                let arguments = digest(arguments);
                json!({"type": "begin", "tool": clip(tool), "candidate": candidate, "arguments": arguments, "call": call})
            }
            AuditEvent::Call { tool, candidate, arguments, call } => {
                let arguments = digest(arguments);
                let mut fields = json!({"type": "call", "tool": clip(tool), "candidate": candidate, "arguments": arguments});
                if let Some(call) = call {
                    fields["call"] = json!(call);
                }
                fields
            }
            AuditEvent::Search { arguments } => json!({"type": "search", "arguments": digest(arguments)}),
            AuditEvent::Describe { tool } => json!({"type": "describe", "tool": clip(tool)}),
            AuditEvent::Resource { uri } => json!({"type": "resource", "uri": shown_uri(uri)}),
            AuditEvent::Prompt { prompt, arguments } => {
                json!({"type": "prompt", "prompt": clip(prompt), "arguments": digest(arguments)})
            }
            AuditEvent::Approval { id, is_approved } => {
                let decision = if is_approved { "approve" } else { "deny" };
                json!({"type": "approval", "approval": clip(id), "decision": decision})
            }
            AuditEvent::Refusal { status, count } => {
                json!({"type": "refusal", "status": status, "count": count})
            }
        }
    }
}

/// Equal for equal arguments, and for nobody without the key a way to try values: a plain digest of `true` or of a name is
/// guessed at once.
fn keyed_digest(arguments: &Value, key: &hmac::Key) -> String {
    format!("hmac-sha256:{}", keyed_hex(canonical(arguments).as_bytes(), key))
}

fn keyed_hex(text: &[u8], key: &hmac::Key) -> String {
    use std::fmt::Write;
    hmac::sign(key, text).as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The envelope of everything that is recorded. The fields are described in `docs/reference/events.md`; a change of their meaning
/// needs another [`VERSION`].
#[derive(Serialize)]
struct AuditLine<'a> {
    v: u64,
    #[serde(flatten)]
    event: Value,
    time: String,
    principal: Cow<'a, str>,
    view: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    trace: &'a str,
    outcome: &'a str,
    ms: f64,
}

impl<'a> AuditRecord<'a> {
    /// What belongs to no view, session or trace.
    pub fn new(time: SystemTime, principal: &'a str, event: AuditEvent<'a>, outcome: &'a str) -> Self {
        let (view, session, trace, duration) = ("", "", "", Duration::ZERO);
        AuditRecord { time, principal, view, session, trace, event, outcome, duration }
    }

    /// The line with its end; `key` hides the arguments.
    pub fn line(&self, key: &hmac::Key) -> Vec<u8> {
        let line = AuditLine {
            v: VERSION,
            event: self.event.fields(key),
            time: timestamp(self.time),
            principal: clip(self.principal),
            view: self.view,
            // Enough to recognise it.
            session: (!self.session.is_empty())
                .then(|| keyed_hex(self.session.as_bytes(), key)[..16].to_owned()),
            trace: self.trace,
            outcome: self.outcome,
            ms: (self.duration.as_secs_f64() * 1e6).round() / 1e3,
        };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// A URI without its user, password, query and fragment, which may hold secrets.
fn shown_uri(uri: &str) -> String {
    let end = uri.find(['?', '#']).unwrap_or(uri.len());
    let uri = &uri[..end];
    let Some((scheme, rest)) = uri.split_once("://") else { return clip(uri).into_owned() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit('@').next().unwrap_or_default();
    clip(&format!("{scheme}://{host}{path}")).into_owned()
}

#[cfg(test)]
mod tests {
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
        let counted = |count| ((401, Arc::from("")), count);
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
                all += counted.map_or(0, |(_, count)| count);
                assert!(counts.0.lock().len() <= MOST_KEYS + 1, "round {round}");
            }
        }
        all += counts.take().iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(all, 2 * (MOST_KEYS as u64 + 50));
    }
}

#[cfg(test)]
mod audit_line_tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::UNIX_EPOCH;

    fn key(secret: &str) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
    }

    fn line(event: AuditEvent<'_>, outcome: &str) -> (String, Value) {
        let record = AuditRecord {
            time: UNIX_EPOCH + Duration::from_millis(1_800_000_000_123),
            principal: "token:ann",
            view: "ops",
            session: "hunter2",
            trace: "0af7651916cd43dd8448eb211c80319c",
            event,
            outcome,
            duration: Duration::from_micros(1_500),
        };
        let text = String::from_utf8(record.line(&key("a"))).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    fn call<'a>(tool: &'a str, arguments: &'a Value) -> AuditEvent<'a> {
        AuditEvent::Call { tool, candidate: Some("mcps:files"), arguments, call: Some(7) }
    }

    #[test]
    fn a_line_has_all_that_an_auditor_needs_and_no_argument() {
        let arguments = json!({"path": "hunter2"});
        let (text, line) = line(call("read", &arguments), "timeout");
        assert!(!text.contains("hunter2"));
        assert_eq!((&line["v"], &line["type"]), (&json!(VERSION), &json!("call")));
        assert_eq!(line["time"], "2027-01-15T08:00:00.123Z");
        assert_eq!((&line["principal"], &line["view"]), (&json!("token:ann"), &json!("ops")));
        assert_eq!((&line["tool"], &line["candidate"]), (&json!("read"), &json!("mcps:files")));
        assert_eq!((&line["outcome"], &line["ms"]), (&json!("timeout"), &json!(1.5)));
        assert_eq!((&line["call"], line["session"].as_str().unwrap().len()), (&json!(7), 16));
        assert_eq!(line["trace"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(line["arguments"].as_str().unwrap().len(), "hmac-sha256:".len() + 64);
    }

    #[test]
    fn every_kind_of_event_has_the_envelope() {
        let arguments = json!({"query": "hunter2"});
        for (event, kind, own) in [
            (
                AuditEvent::Begin { tool: "pay", candidate: "mcps:bank", arguments: &arguments, call: 7 },
                "begin",
                "call",
            ),
            (AuditEvent::Search { arguments: &arguments }, "search", "arguments"),
            (AuditEvent::Describe { tool: "read" }, "describe", "tool"),
            (AuditEvent::Resource { uri: "note://one" }, "resource", "uri"),
            (AuditEvent::Prompt { prompt: "ask", arguments: &arguments }, "prompt", "prompt"),
            (AuditEvent::Approval { id: "x", is_approved: true }, "approval", "decision"),
            (AuditEvent::Refusal { status: 401, count: 3 }, "refusal", "status"),
        ] {
            let (text, line) = line(event, OK);
            assert!(!text.contains("hunter2"));
            assert_eq!(line["type"], kind);
            for field in ["v", "time", "principal", "view", "outcome", "ms", own] {
                assert!(line.get(field).is_some(), "{kind} {field}");
            }
        }
    }

    #[test]
    fn addresses_are_shown_without_what_may_be_secret() {
        for (uri, shown) in [
            ("https://u:hunter2@host.example/a/b?key=hunter2#hunter2", "https://host.example/a/b"),
            ("file:///tmp/a.txt", "file:///tmp/a.txt"),
            ("note://one", "note://one"),
            ("urn:isbn:1?x=hunter2", "urn:isbn:1"),
            ("", ""),
        ] {
            assert_eq!(shown_uri(uri), shown);
        }
    }

    #[test]
    fn equal_arguments_have_equal_digests_in_any_order() {
        let of = |value: Value| keyed_digest(&value, &key("a"));
        assert_ne!(of(json!(true)), keyed_digest(&json!(true), &key("b")));
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

    proptest! {
        #[test]
        fn any_tool_name_stays_on_one_line(tool in "[^\\p{C}]{0,80}", key in ".{0,20}") {
            let (text, value) = line(call(&tool, &json!({key: 1})), OK);
            prop_assert_eq!(text.matches('\n').count(), 1);
            prop_assert_eq!(value["tool"].as_str(), Some(&*clip(&tool)));
        }

        #[test]
        fn any_name_has_a_bounded_line(name in "(?s).{0,3000}") {
            for event in [
                AuditEvent::Describe { tool: &name },
                AuditEvent::Resource { uri: &name },
                AuditEvent::Prompt { prompt: &name, arguments: &Value::Null },
            ] {
                let (text, _) = line(event, OK);
                prop_assert!(text.len() < 2_000);
                prop_assert_eq!(text.matches('\n').count(), 1);
            }
        }
    }
}
