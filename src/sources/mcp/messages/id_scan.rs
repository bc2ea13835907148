//! The id of an answer that cannot be read as a whole: it is broken, or longer than the limit.
//!
//! The bytes are scanned once, in pieces, and only the top level is kept: an `"id"` inside a string, inside a nested value or in a
//! line that is not a JSON-RPC message says nothing about a call.

use crate::mcp::wire::{is_message, number};
use toolhub_protocol::RpcEnvelope;

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
