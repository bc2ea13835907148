//! The lines of the audit log: one envelope for everything that is recorded.
//!
//! The fields are described in `docs/reference/events.md`; a change of their meaning needs another [`VERSION`].

use ring::hmac;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::{Duration, SystemTime};
pub use toolhub_store::tape::{VERSION, timestamp};
use toolhub_text::canonical::canonical;
use toolhub_types::error::clip;

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
