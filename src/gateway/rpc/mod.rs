//! JSON-RPC 2.0 as a server reads and writes it: strict in both directions.
//!
//! A message is taken apart once, with its parameters. Members that occur twice are refused, because two readers could
//! disagree about which one counts.

mod outlet;
mod params;
pub mod span;

pub use outlet::Outlet;
pub use params::{RpcParams, must_be};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
pub use span::RequestTrace;
use std::borrow::Cow;
use toolhub_protocol::{RpcEnvelope, VERSION_KEY};
use toolhub_types::error::{OUTCOME_KEY, Outcome};

/// The id of a request: a text or a number, written back as it came.
#[derive(Clone, Debug)]
pub struct RpcId(Box<RawValue>);

impl RpcId {
    /// `None` for anything but a text or a whole number.
    fn of(raw: &RawValue) -> Option<RpcId> {
        let text = raw.get();
        let is_whole = || text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        (text.starts_with('"') || is_whole()).then(|| RpcId(raw.to_owned()))
    }

    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Equal for equal ids, however they were escaped.
    pub fn key(&self) -> String {
        if !self.0.get().contains('\\') {
            return self.0.get().to_owned();
        }
        serde_json::from_str::<Value>(self.0.get()).map_or_else(|_| self.0.to_string(), |id| id.to_string())
    }
}

/// A request of a client.
#[derive(Clone, Debug)]
pub struct RpcRequest {
    pub id: RpcId,
    pub method: String,
    pub params: RpcParams,
}

impl RpcRequest {
    /// Whether it brings the answers to the questions of a request that runs, as modern clients send them.
    pub fn brings_answers(&self) -> bool {
        let is_modern = self.params.meta().is_some_and(|meta| meta.contains_key(VERSION_KEY));
        is_modern && self.params.contains_key("requestState")
    }
}

/// What a client may send.
#[derive(Debug)]
pub enum ClientMessage {
    Request(RpcRequest),
    Notification {
        method: String,
        params: RpcParams,
    },
    /// The answer to a question of ours; `Err` holds the error object.
    Response {
        id: RpcId,
        outcome: Result<Box<RawValue>, Box<RawValue>>,
    },
}

const NOT_JSON: &str = "Parse error: the body is not JSON";

/// Bytes that are not a message, and the id they should be answered with, if it could be read.
#[derive(Debug)]
pub struct UnreadableMessage {
    pub id: Option<RpcId>,
    pub error: RpcError,
}

impl UnreadableMessage {
    fn new(id: Option<RpcId>, code: i64, message: &'static str) -> Self {
        UnreadableMessage { id, error: RpcError::new(code, message) }
    }
}

/// Reads one message.
pub fn read_message(bytes: &[u8]) -> Result<ClientMessage, UnreadableMessage> {
    let parse_error = || UnreadableMessage::new(None, PARSE_ERROR, NOT_JSON);
    let text = std::str::from_utf8(bytes).map_err(|_| parse_error())?;
    match serde_json::from_str::<RpcEnvelope<'_>>(text) {
        Ok(envelope) => sorted(envelope),
        // What is not an object is found out before the end of the text: it may still be no JSON at all.
        Err(_) if serde_json::from_str::<&RawValue>(text).is_err() => Err(parse_error()),
        Err(_) => {
            Err(UnreadableMessage::new(None, INVALID_REQUEST, "Invalid Request: a message is an object"))
        }
    }
}

fn sorted(envelope: RpcEnvelope<'_>) -> Result<ClientMessage, UnreadableMessage> {
    let id = envelope.id.and_then(RpcId::of);
    let refuse = |message| Err(UnreadableMessage::new(id.clone(), INVALID_REQUEST, message));
    if envelope.has_twice {
        return refuse("Invalid Request: a member occurs twice");
    }
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return refuse("Invalid Request: 'jsonrpc' must be \"2.0\"");
    }
    if envelope.id.is_some() && id.is_none() {
        return refuse("Invalid Request: 'id' must be a string or an integer");
    }
    let Some(method) = envelope.method else {
        let outcome = match (envelope.result, envelope.error) {
            (Some(result), None) => Some(Ok(result.to_owned())),
            (None, Some(error)) => Some(Err(error.to_owned())),
            _ => None,
        };
        return match (id.clone(), outcome) {
            (Some(id), Some(outcome)) => Ok(ClientMessage::Response { id, outcome }),
            _ => refuse("Invalid Request: 'method' is missing"),
        };
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return refuse("Invalid Request: 'method' must be a string");
    };
    if envelope.result.is_some() || envelope.error.is_some() {
        return refuse("Invalid Request: a message is either a request or a response");
    }
    match envelope.params.map(|params| params.get().as_bytes().first().copied()) {
        None | Some(Some(b'{')) => {}
        Some(Some(b'[')) if id.is_some() => {
            let error = must_be("params", "an object");
            return Err(UnreadableMessage { id, error });
        }
        Some(_) => return refuse("Invalid Request: 'params' must be an object"),
    }
    let params = envelope.params.map(RpcParams::read).transpose();
    let params = params.map_err(|error| UnreadableMessage { id: id.clone(), error })?.unwrap_or_default();
    Ok(match id {
        Some(id) => ClientMessage::Request(RpcRequest { id, method, params }),
        None => ClientMessage::Notification { method, params },
    })
}

/// The answer with this result, on one line.
pub fn result_message(id: &RpcId, result: &str) -> String {
    let mut text = String::with_capacity(result.len() + id.as_json().len() + 40);
    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    text.push_str(id.as_json());
    text.push_str(",\"result\":");
    text.push_str(result);
    text.push('}');
    on_one_line(text)
}

pub fn error_message(id: Option<&RpcId>, error: &RpcError) -> String {
    let body = serde_json::to_string(error).unwrap_or_else(|_| "null".to_owned());
    on_one_line(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{body}}}",
        id.map_or("null", RpcId::as_json)
    ))
}

pub fn notification_message(method: &str, params: &Value) -> String {
    serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Foreign JSON may be indented. Inside of a JSON text a line end is always white space, and neither stdio nor an event
/// stream can carry it.
fn on_one_line(mut text: String) -> String {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        text = text.replace(['\n', '\r'], " ");
    }
    text
}

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub use toolhub_protocol::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, TRY_LATER};

/// An error object of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    pub code: i64,
    pub message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// The error of a call that may have run, for a hub in front of this one.
    pub fn in_doubt(self) -> Self {
        RpcError { data: Some(Self::with_doubt(self.data)), ..self }
    }

    /// What a failure says beside its text, and that the call may have run.
    pub fn with_doubt(said: Option<Value>) -> Value {
        let mut members = match said {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(members)) => members,
            Some(other) => Map::from_iter([("data".to_owned(), other)]),
        };
        members.insert(OUTCOME_KEY.to_owned(), json!(Outcome::Unknown));
        Value::Object(members)
    }

    pub fn with_data(self, data: Value) -> Self {
        RpcError { data: Some(data), ..self }
    }

    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        RpcError::new(INVALID_PARAMS, message)
    }

    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        RpcError::new(INVALID_REQUEST, message)
    }

    pub fn no_such_method(method: &str) -> Self {
        RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {}", toolhub_types::error::clip(method)))
    }
}

// What a client sends at once: one message, or a batch of them.
//
// Batches belong to the protocol of 2025-03-26 alone; it was the only version that had them. Whether a client may send one is
// decided by its endpoint, which knows the version of the session.

/// The version whose clients may send batches.
pub const BATCH_VERSION: &str = "2025-03-26";
/// The messages of one batch.
pub const MOST_IN_BATCH: usize = 100;

/// One of the messages of a batch. The others count, also when this one cannot be read.
pub type BatchEntry = Result<ClientMessage, UnreadableMessage>;

#[derive(Debug)]
pub enum ClientPayload {
    One(ClientMessage),
    /// At least one message.
    Batch(Vec<BatchEntry>),
}

impl ClientPayload {
    /// How many answers are expected.
    pub fn requests(&self) -> usize {
        let is_request = |message: &ClientMessage| matches!(message, ClientMessage::Request(_));
        match self {
            ClientPayload::One(message) => usize::from(is_request(message)),
            ClientPayload::Batch(entries) => entries.iter().flatten().filter(|one| is_request(one)).count(),
        }
    }
}

/// Reads what a client has sent.
pub fn read_payload(bytes: &[u8]) -> Result<ClientPayload, UnreadableMessage> {
    match bytes.trim_ascii_start().first() {
        Some(b'[') => read_batch(bytes).map(ClientPayload::Batch),
        _ => read_message(bytes).map(ClientPayload::One),
    }
}

fn read_batch(bytes: &[u8]) -> Result<Vec<BatchEntry>, UnreadableMessage> {
    // Counted before its parts are kept: a small text must not become a large list.
    let count = serde_json::from_slice::<Vec<IgnoredAny>>(bytes).map_or(0, |entries| entries.len());
    if count > MOST_IN_BATCH {
        let text = format!("Invalid Request: a batch has at most {MOST_IN_BATCH} messages");
        return Err(UnreadableMessage { id: None, error: RpcError::invalid_request(text) });
    }
    match serde_json::from_slice::<Vec<&RawValue>>(bytes) {
        Err(_) => Err(UnreadableMessage::new(None, PARSE_ERROR, NOT_JSON)),
        Ok(entries) if entries.is_empty() => {
            let text = "Invalid Request: a batch must not be empty";
            Err(UnreadableMessage::new(None, INVALID_REQUEST, text))
        }
        Ok(entries) => Ok(entries.into_iter().map(|entry| read_message(entry.get().as_bytes())).collect()),
    }
}

/// Refuses a batch of a client that has not agreed on the version that has batches.
pub fn takes_batches(version: Option<&str>) -> Result<(), RpcError> {
    match version {
        Some(BATCH_VERSION) => Ok(()),
        _ => Err(RpcError::invalid_request(format!(
            "Invalid Request: batches are for sessions of protocol version {BATCH_VERSION} only; \
             send one message at a time"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(text: &str) -> i64 {
        read_message(text.as_bytes()).err().map_or(0, |refused| refused.error.code)
    }

    #[test]
    fn each_way_of_being_wrong_has_the_code_of_the_specification() {
        for (text, expected) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("[1,2", PARSE_ERROR),
            ("\u{feff}{}", PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, INVALID_REQUEST),
            ("1", INVALID_REQUEST),
            ("null", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":1,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","result":{}}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"extra":1}"#, 0),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, 0),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 0),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#, 0),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
        assert!(matches!(read_message(b"\xff{}"), Err(refused) if refused.error.code == PARSE_ERROR));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_an_overflow() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
            "{\"a\":".repeat(100_000),
            "}".repeat(100_000)
        );
        assert_eq!(code(&deep), INVALID_PARAMS);
    }

    #[test]
    fn the_id_comes_back_as_it_was_and_answers_are_one_line() {
        let read = read_message(br#"{"jsonrpc":"2.0","id":"\u0061\n","method":"x"}"#).ok();
        let Some(ClientMessage::Request(request)) = read else { panic!("it is a request") };
        assert_eq!(request.id.as_json(), r#""\u0061\n""#);
        assert_eq!(request.id.key(), r#""a\n""#);
        let answer = result_message(&request.id, "{\n  \"a\":\r\n 1}");
        assert!(!answer.contains(['\n', '\r']));
        assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["result"]["a"], 1);
        let refused = read_message(br#"{"jsonrpc":"2.0","id":7,"method":1}"#).err();
        assert_eq!(refused.and_then(|refused| refused.id).map(|id| id.key()).as_deref(), Some("7"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_message(&bytes);
        }

        #[test]
        fn any_message_is_read_or_refused_with_a_code(
            id in prop_oneof![Just("1"), Just("\"a\""), Just("null"), Just("[]"), Just("-0"), Just("1e3")],
            method in prop_oneof![Just("\"m\""), Just("7"), Just("\"\\ud800\"")],
            params in prop_oneof![Just("{}"), Just("[]"), Just("null"), Just("{\"a\":{\"a\":1}}")],
        ) {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
            if let Err(refused) = read_message(text.as_bytes()) {
                prop_assert!([PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS].contains(&refused.error.code));
            }
        }
    }
}

#[cfg(test)]
mod batch_tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn code(text: &str) -> i64 {
        read_payload(text.as_bytes()).err().map_or(0, |refused| refused.error.code)
    }

    fn batch(text: &str) -> Vec<BatchEntry> {
        match read_payload(text.as_bytes()) {
            Ok(ClientPayload::Batch(entries)) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_batch_is_read_message_by_message_and_is_bounded() {
        assert_eq!(code("[]"), INVALID_REQUEST);
        assert_eq!(code(" [ ] "), INVALID_REQUEST);
        assert_eq!(code("[1,2"), PARSE_ERROR);
        assert_eq!(code("[1] x"), PARSE_ERROR);
        assert_eq!(code("[\u{1}]"), PARSE_ERROR);
        assert!(matches!(read_payload(b"[\"\xff\"]"), Err(refused) if refused.error.code == PARSE_ERROR));
        let entry = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(batch(&format!("[{}]", [entry; MOST_IN_BATCH].join(","))).len(), MOST_IN_BATCH);
        assert_eq!(code(&format!("[{}]", [entry; MOST_IN_BATCH + 1].join(","))), INVALID_REQUEST);
        let mixed = batch(&format!(r#"[{entry}, 1, [{entry}], {{"jsonrpc":"2.0","id":"x"}}]"#));
        assert!(matches!(&mixed[0], Ok(ClientMessage::Request(request)) if request.method == "ping"));
        for refused in &mixed[1..] {
            assert!(matches!(refused, Err(refused) if refused.error.code == INVALID_REQUEST));
        }
        assert!(matches!(&mixed[3], Err(refused) if refused.id.as_ref().unwrap().as_json() == "\"x\""));
        assert!(matches!(read_payload(entry.as_bytes()), Ok(ClientPayload::One(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_payload(&bytes);
        }

        #[test]
        fn every_entry_is_found(ids in proptest::collection::vec(0..1000u32, 1..MOST_IN_BATCH)) {
            let all: Vec<Value> =
                ids.iter().map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).collect();
            let read = batch(&Value::from(all).to_string());
            let found: Vec<String> = read.into_iter().map(|entry| match entry {
                Ok(ClientMessage::Request(request)) => request.id.as_json().to_owned(),
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(found, ids.iter().map(u32::to_string).collect::<Vec<_>>());
        }
    }
}
