//! JSON-RPC as it is on the wire: strict in what is written, lenient in what is read.
//!
//! A message is taken apart only as far as it has to be: results stay raw text until their type is known, so one
//! odd field never loses the rest, and nothing is parsed twice.

use crate::mcp::proof;
use regex::Regex;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use toolhub_protocol::RpcEnvelope;
use toolhub_text::invisible::{is_invisible, visible};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result, UpstreamError};

/// What a server may have sent.
#[derive(Debug)]
pub enum Incoming {
    /// `None` when the id of the answer cannot be read.
    Response { id: Option<u64>, outcome: Result<Box<RawValue>> },
    /// A request, whose id is echoed as it came, or a notification, which has none.
    Said { id: Option<Box<RawValue>>, method: String, params: Option<Box<RawValue>> },
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
        // Some servers answer with a batch although the client sent none.
        let batch = value.and_then(|value| match value.get() {
            list if list.starts_with('[') => serde_json::from_str::<Vec<&RawValue>>(list),
            _ => Ok(vec![value]),
        });
        match batch {
            Ok(batch) => found.extend(batch.into_iter().map(read)),
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

/// JSON in which each half of a surrogate pair that stands alone is replaced, as other bytes that are not characters are: one of
/// them in a text must not lose the whole message.
fn with_whole_characters(text: Cow<'_, str>) -> Cow<'_, str> {
    let has = |escape: &[u8]| memchr::memmem::find(text.as_bytes(), escape).is_some();
    if !has(b"\\ud") && !has(b"\\uD") {
        return text;
    }
    /// A pair, a half of one, or a backslash.
    static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let (high, low, digits) = (r"\\u[dD][89abAB]", r"\\u[dD][c-fC-F]", "[0-9a-fA-F]{2}");
        Regex::new(&format!(r"{high}{digits}{low}{digits}|{high}{digits}|{low}{digits}|\\\\")).ok()
    });
    let found = ESCAPES.iter().flat_map(|escapes| escapes.find_iter(&text)).map(|escape| escape.range());
    let halves: Vec<_> = found.filter(|range| range.len() == HALF.len()).collect();
    let mut whole = text;
    halves.into_iter().for_each(|range| whole.to_mut().replace_range(range, HALF));
    whole
}

/// What stands for half a character, in as many bytes as that.
const HALF: &str = "\\ufffd";

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
        (Some(method), id) => Ok(Incoming::Said { id: id.map(RawValue::to_owned), method, params }),
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
    // Whole commands go first, so that no `[31m` stays behind.
    let seen = visible(text);
    let mut left = seen.chars().filter(|c| matches!(c, '\n' | '\t') || !is_invisible(*c));
    let shown: String = left.by_ref().take(limit).collect();
    if left.next().is_some() { shown + "…" } else { shown }
}

/// The value with each of its texts changed, names included.
pub fn with_texts(value: Value, change: &dyn Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.into_iter().map(|item| with_texts(item, change)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (change(name), with_texts(value, change))).collect()
        }
        other => other,
    }
}

/// Programs log in JSON too, with an `id` or a `method` of their own. A server may leave out the version, if all else is
/// JSON-RPC.
pub(super) fn is_message(envelope: &RpcEnvelope<'_>) -> bool {
    let has_content = envelope.method.is_some() || envelope.result.is_some() || envelope.error.is_some();
    envelope.jsonrpc.is_some() || (has_content && !envelope.has_other)
}

// The id of an answer that cannot be read as a whole: it is broken, or longer than the limit.
//
// The bytes are scanned once, in pieces, and only the top level is kept: an `"id"` inside a string, inside a nested value or in a
// line that is not a JSON-RPC message says nothing about a call.

/// The longest top level that is looked at, and the longest text in it. Ours are far shorter.
const MAX_TOP: usize = 1_000;
const MAX_TEXT: usize = 24;

/// Scans one message.
#[derive(Debug, Default)]
pub struct IdScan {
    /// The top level, with `null` for each nested value.
    top: Vec<u8>,
    /// The end of the last member in it that is known: the value of a nested one need not have ended for that.
    known: usize,
    depth: usize,
    /// In a text, and where it began.
    text: Option<usize>,
    /// The last byte was a backslash that protects the next one.
    is_escaping: bool,
    is_over: bool,
}

impl IdScan {
    pub fn of(text: &[u8]) -> Self {
        let mut scan = IdScan::default();
        scan.feed(text);
        scan
    }

    /// The id that the message gives itself, once it is known and the message is an answer. Two ids leave the owner open.
    pub fn id(&self) -> Option<u64> {
        let top = String::from_utf8_lossy(&self.top[..self.known]) + "}";
        let envelope: RpcEnvelope<'_> = serde_json::from_str(&top).ok()?;
        let is_answer = is_message(&envelope) && envelope.method.is_none() && !envelope.has_twice;
        envelope.id.filter(|_| is_answer).and_then(number)
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.is_over {
                return;
            }
            let is_kept = self.depth < 2;
            match (byte, self.text) {
                _ if std::mem::take(&mut self.is_escaping) => continue,
                (b'\\', Some(_)) => {
                    self.is_escaping = true;
                    continue;
                }
                (b'"', begun) => self.text = begun.is_none().then_some(self.top.len()),
                (_, Some(begun)) if self.top.len() > begun + MAX_TEXT => continue,
                (_, Some(_)) => {}
                (b'{' | b'[', None) => self.depth += 1,
                (b'}' | b']', None) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_over = self.depth == 0;
                }
                (_, None) => {}
            }
            let is_end = self.text.is_none() && self.depth == 1 && byte == b',';
            if is_end || self.is_over {
                self.known = self.top.len();
            }
            if is_kept && self.depth < 2 {
                self.top.push(byte);
            } else if is_kept {
                self.top.extend_from_slice(b"null");
                self.known = self.top.len();
            }
            self.is_over |= self.top.len() > MAX_TOP;
        }
    }
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

#[cfg(test)]
mod id_scan_tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn id(text: &str) -> Option<u64> {
        IdScan::of(text.as_bytes()).id()
    }

    #[test]
    fn only_the_id_of_an_answer_counts() {
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te"#), Some(7));
        assert_eq!(id(r#"{"jsonrpc":"2.0","result":{"a":NaN,"id":3},"id":7}"#), Some(7));
        assert_eq!(id(r#"{"jsonrpc":"2.0","result":"he said \"id\": 3 \\","id":"7"}"#), Some(7));
        assert_eq!(id(r#"{"id":7,"result":{"x"#), Some(7), "a server that leaves out the version");
        for noise in [
            r#"{truncated "id": 7"#,
            r#"DEBUG {"jsonrpc":"2.0","id":7,"#,
            r#"handled "id": 7,"#,
            r#"{"level":"info","id":7,"error":"reset"#,
            r#"{"jsonrpc":"2.0","method":"ping","id":7,"params":{"#,
            r#"{"jsonrpc":"2.0","params":{"id":7},"#,
            r#"{"jsonrpc":"2.0","id":7"#,
            r#"{"jsonrpc":"2.0","id":{"id":7},"result":["#,
            r#"{"jsonrpc":"2.0","id":7,"id":8,"result":["#,
            r#"["id",7,"#,
            "",
        ] {
            assert_eq!(id(noise), None, "{noise}");
        }
    }

    proptest! {
        #[test]
        fn the_pieces_and_the_order_do_not_matter(
            number in 0u64..10_000,
            text in "[a-z\"\\\\{}\\[\\]:, ]{0,60}",
            is_last: bool,
            cuts in prop::collection::vec(1usize..9, 0..60),
        ) {
            let result = json!({"text": text, "id": 99999, "more": [text, {"id": text}]});
            let message = match is_last {
                true => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{number}}}"#),
                false => format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{result}}}"#),
            };
            prop_assert!(serde_json::from_str::<Value>(&message).is_ok());
            let (mut scan, mut rest) = (IdScan::default(), message.as_bytes());
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                scan.feed(piece);
                rest = more;
            }
            scan.feed(rest);
            prop_assert_eq!(scan.id(), Some(number));
        }

        #[test]
        fn any_bytes_can_be_scanned(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let mut scan = IdScan::default();
            pieces.iter().for_each(|piece| scan.feed(piece));
            let _ = scan.id();
        }
    }
}
