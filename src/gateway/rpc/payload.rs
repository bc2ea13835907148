//! What a client sends at once: one message, or a batch of them.
//!
//! Batches belong to the protocol of 2025-03-26 alone; it was the only version that had them. Whether a client may send one is
//! decided by its endpoint, which knows the version of the session.

use crate::rpc::{
    ClientMessage, INVALID_REQUEST, NOT_JSON, PARSE_ERROR, RpcError, UnreadableMessage, read_message,
};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

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
