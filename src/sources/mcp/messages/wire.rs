//! JSON-RPC as it is on the wire: strict in what is written, lenient in what is read.
//!
//! A message is taken apart only as far as it has to be: results stay raw text until their type is known, so one
//! odd field never loses the rest, and nothing is parsed twice.

use crate::mcp::convert::unreadable;
use crate::mcp::id_scan::IdScan;
use crate::mcp::proof;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use toolhub_protocol::RpcEnvelope;
use toolhub_text::invisible::{is_invisible, visible};
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError, UpstreamError};

/// What a server may have sent.
#[derive(Debug)]
pub enum Incoming {
    /// `None` when the id of the answer cannot be read.
    Response {
        id: Option<u64>,
        outcome: Result<Box<RawValue>, HubError>,
    },
    /// The id is echoed as it came.
    Request {
        id: Box<RawValue>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
}

/// All messages of one line, event or body. Bytes that are not a message are reported in one sentence.
pub fn decode(bytes: &[u8]) -> Vec<Result<Incoming, Malformed>> {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let text = with_whole_characters(text);
    // Nearly always it is one message and nothing else: then it is read once.
    if let Ok(envelope) = serde_json::from_str(&text) {
        return vec![sorted(envelope)];
    }
    let mut found = several(&text);
    let is_one_of_several = found.len() > 1;
    for message in &mut found {
        if let Ok(Incoming::Response { outcome: Err(error), .. }) = message {
            error.nothing_happened &= !is_one_of_several;
        }
    }
    found
}

fn several(text: &str) -> Vec<Result<Incoming, Malformed>> {
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value {
            Ok(value) => split(value, &mut found),
            Err(error) => found.push(Err(Malformed::new(text, &error))),
        }
        // What follows a value that is not a message was printed with it: a log line that quotes a message must not answer a
        // request.
        if let Some(Err(_)) = found.last() {
            break;
        }
    }
    found
}

/// JSON in which each half of a surrogate pair that stands alone is replaced, as other bytes that are no character are: one of
/// them in a text must not lose the whole message.
fn with_whole_characters(text: Cow<'_, str>) -> Cow<'_, str> {
    let has = |escape: &[u8]| memchr::memmem::find(text.as_bytes(), escape).is_some();
    if !has(b"\\ud") && !has(b"\\uD") {
        return text;
    }
    let mut whole = text.into_owned();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &whole.as_bytes()[at..]) {
        at += found;
        let (first, second) = (surrogate(&whole, at), surrogate(&whole, at + ESCAPE));
        at += match (first, second) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(_), _) => {
                whole.replace_range(at..at + ESCAPE, "\\ufffd");
                ESCAPE
            }
            // Another escape, such as that of a backslash.
            (None, _) => 2,
        };
        at = at.min(whole.len());
    }
    Cow::Owned(whole)
}

/// The length of an escape such as `\u00e9`.
const ESCAPE: usize = 6;

/// The half of a surrogate pair that is escaped here.
fn surrogate(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    matches!(code, 0xD800..=0xDFFF).then_some(code)
}

/// Some servers answer with a batch although the client sent none.
fn split(value: &RawValue, found: &mut Vec<Result<Incoming, Malformed>>) {
    let text = value.get();
    if text.starts_with('[') {
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(batch) => found.extend(batch.into_iter().map(read)),
            Err(error) => found.push(Err(Malformed::new(text, &error))),
        }
    } else {
        found.push(read(value));
    }
}

/// Bytes that are not a message that can be read.
#[derive(Debug)]
pub struct Malformed {
    /// The request that they answer, when they are an answer with an id of its own.
    pub id: Option<u64>,
    pub reason: Message,
}

impl Malformed {
    fn new(text: &str, error: &serde_json::Error) -> Self {
        let reason = match error.is_eof() {
            true => message!("the answer ends in the middle of the JSON; the server may have cut it off"),
            false => error.to_string().into(),
        };
        Malformed { id: IdScan::of(text.as_bytes()).id(), reason }
    }

    pub fn error(&self) -> HubError {
        unreadable(self.reason.clone())
    }
}

fn read(value: &RawValue) -> Result<Incoming, Malformed> {
    let text = value.get();
    serde_json::from_str(text).map_err(|error| Malformed::new(text, &error)).and_then(sorted)
}

/// The parameters of a message; `Null` if there are none that can be read.
pub fn parsed(params: Option<&RawValue>) -> Value {
    params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// What kind of message it is.
fn sorted(envelope: RpcEnvelope<'_>) -> Result<Incoming, Malformed> {
    let malformed = |id, reason: &'static str| Err(Malformed { id, reason: reason.into() });
    let is_rpc = is_message(&envelope);
    let params = envelope.params.map(RawValue::to_owned);
    let method = envelope.method.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    match (method, envelope.id) {
        _ if !is_rpc => malformed(None, "it is not a JSON-RPC message"),
        (Some(method), Some(id)) => Ok(Incoming::Request { id: id.to_owned(), method, params }),
        (Some(method), None) => Ok(Incoming::Notification { method, params }),
        (None, id) => {
            let id = id.and_then(number);
            let error = envelope.error.filter(|error| error.get() != "null");
            match (error, envelope.result) {
                // Proxies and web frameworks have errors of their own form, `{"error": …}`; those are not the server's answer.
                _ if id.is_none() && envelope.jsonrpc.is_none() => {
                    malformed(None, "it is not a JSON-RPC message")
                }
                (Some(_), Some(result)) if result.get() != "null" => {
                    malformed(id, "it has both a result and an error")
                }
                (Some(error), _) => Ok(Incoming::Response { id, outcome: Err(rpc_error(error, &envelope)) }),
                (None, Some(result)) => Ok(Incoming::Response { id, outcome: Ok(result.to_owned()) }),
                (None, None) if id.is_none() => malformed(id, "it is not a JSON-RPC message"),
                (None, None) => malformed(id, "it has neither a result nor an error"),
            }
        }
    }
}

/// Our ids are numbers; some servers give them back as text or as a fraction.
pub(super) fn number(raw: &RawValue) -> Option<u64> {
    if let Ok(id) = raw.get().parse() {
        return Some(id);
    }
    whole(&serde_json::from_str(raw.get()).ok()?).and_then(|id| u64::try_from(id).ok())
}

/// A whole number, however it is written.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(n) => n.as_i64().or_else(|| n.as_f64().filter(|f| f.fract() == 0.0).map(|f| f as i64)),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A server's error. Its text is for a terminal or a model: no control characters, not endless.
fn rpc_error(raw: &RawValue, envelope: &RpcEnvelope<'_>) -> HubError {
    let mut value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let data = value.get_mut("data").map(Value::take).filter(|data| !data.is_null());
    let (code, message) = match &value {
        Value::Object(map) => (
            map.get("code").and_then(whole),
            map.get("message").map(|m| m.as_str().map_or_else(|| m.to_string(), str::to_owned)),
        ),
        Value::String(text) => (None, Some(text.clone())),
        _ => (None, None),
    };
    let shown = match &message {
        Some(message) => clean(message, 2000).into(),
        None => message!("the server gave no message"),
    };
    let text = match code {
        Some(code) => message!("MCP error: {} (code {})", shown, code),
        None => message!("MCP error: {}", shown),
    };
    let upstream = UpstreamError { message: clean(message.as_deref().unwrap_or(&shown), usize::MAX), data };
    let error = HubError { code, upstream: Some(Arc::new(upstream)), ..HubError::new(ErrorKind::Rpc, text) };
    proof::of_answer(error, envelope, &value)
}

/// Foreign text made safe to show: without terminal commands, control and invisible characters, and of bounded length.
pub fn clean(text: &str, limit: usize) -> String {
    let mut out = String::new();
    // Whole commands go first, so that no `[31m` stays behind.
    let seen = visible(text);
    for (count, c) in seen.chars().filter(|c| *c == '\n' || *c == '\t' || !is_invisible(*c)).enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

/// Programs log in JSON too, with an `id` or a `method` of their own. A server may leave out the version, if all else is
/// JSON-RPC.
pub(super) fn is_message(envelope: &RpcEnvelope<'_>) -> bool {
    let has_content = envelope.method.is_some() || envelope.result.is_some() || envelope.error.is_some();
    envelope.jsonrpc.is_some() || (has_content && !envelope.has_other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> String {
        with_whole_characters(Cow::Borrowed(text)).into_owned()
    }

    #[test]
    fn half_a_character_is_replaced_and_the_rest_stays() {
        for (text, expected) in [
            (r#"{"a":"x\ud83dy"}"#, r#"{"a":"x\ufffdy"}"#),
            (r#"{"a":"\uDC00"}"#, r#"{"a":"\ufffd"}"#),
            (r#"{"a":"\ude00\ud83d"}"#, r#"{"a":"\ufffd\ufffd"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\\ud83d"}"#, r#"{"a":"\\ud83d"}"#),
            (r#"{"a":"\\\ud83d"}"#, r#"{"a":"\\\ufffd"}"#),
            (r#"{"a":"\ud83"}"#, r#"{"a":"\ud83"}"#),
            (r#"{"a":"\ud+3d"}"#, r#"{"a":"\ud+3d"}"#),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_escapes_can_be_read(parts in prop::collection::vec(
            prop_oneof![Just("\\ud83d"), Just("\\uDE00"), Just("\\\\"), Just("\\n"), Just("ud83d"), Just("é"), Just("\\u0041")], 0..12,
        )) {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}", parts.concat());
            let read = serde_json::from_str::<Value>(&whole(&text));
            prop_assert!(read.is_ok(), "{}", text);
            if let Ok(plain) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(read.unwrap(), plain, "what was whole stays");
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&[b"\\ud8".as_slice(), &bytes].concat());
        }
    }
}
