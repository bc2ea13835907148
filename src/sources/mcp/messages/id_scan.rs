//! The id of an answer that cannot be read as a whole: it is broken, or longer than the limit.
//!
//! The bytes are scanned once, in pieces, and not kept. Only the top level counts: an `"id"` inside a string, inside a nested value
//! or in a line that is not a JSON-RPC message says nothing about a call.

/// The longest name or id that is looked at. Ours are far shorter.
const MAX_TOKEN: usize = 24;

/// Scans the top level of one message.
#[derive(Debug, Default)]
pub struct IdScan {
    /// The message has ended, or it is none.
    is_over: bool,
    depth: usize,
    is_in_text: bool,
    /// The last byte was a backslash that protects the next one.
    is_escaping: bool,
    /// The name or the value of the top level that is being read, and whether it has ended.
    token: Vec<u8>,
    has_ended: bool,
    /// The name of the member whose value is being read.
    name: Option<Vec<u8>>,
    id: Option<u64>,
    has_version: bool,
    has_answer: bool,
    has_method: bool,
    has_other: bool,
}

impl IdScan {
    pub fn of(text: &[u8]) -> Self {
        let mut scan = IdScan::default();
        scan.feed(text);
        scan
    }

    /// The id that the message gives itself, once it is known and the message is an answer.
    pub fn id(&self) -> Option<u64> {
        let is_message = self.has_version || (self.has_answer && !self.has_other);
        self.id.filter(|_| is_message && !self.has_method)
    }

    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first()
            && !self.is_over
        {
            if self.is_in_text {
                bytes = self.text(bytes);
            } else {
                self.step(byte);
                bytes = rest;
            }
        }
    }

    /// Reads on to the end of the string, and gives back what follows it.
    fn text<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        // A backslash and what it protects may come in two pieces.
        if std::mem::take(&mut self.is_escaping) {
            self.keep(&bytes[..1]);
            return &bytes[1..];
        }
        let end = memchr::memchr2(b'"', b'\\', bytes);
        self.keep(&bytes[..end.unwrap_or(bytes.len())]);
        let Some(end) = end else { return &[] };
        match bytes[end] {
            b'"' => self.is_in_text = false,
            _ => self.is_escaping = true,
        }
        &bytes[end + 1..]
    }

    /// A token that is too long is none of ours; its beginning shows that.
    fn keep(&mut self, bytes: &[u8]) {
        if self.depth == 1 {
            let room = (MAX_TOKEN + 1).saturating_sub(self.token.len()).min(bytes.len());
            self.token.extend_from_slice(&bytes[..room]);
        }
    }

    fn step(&mut self, byte: u8) {
        let is_top = self.depth == 1;
        let is_begun = self.has_ended || !self.token.is_empty();
        match byte {
            // Something stands where a name or a value has to begin, or follows one.
            b'"' | b'{' | b'[' if is_top && is_begun => self.is_over = true,
            b'"' if self.depth > 0 => {
                self.is_in_text = true;
                self.has_ended |= is_top;
            }
            b'{' if self.depth == 0 => self.depth = 1,
            b'{' | b'[' if self.depth > 1 || self.name.is_some() => {
                self.has_ended |= is_top;
                self.depth += 1;
            }
            b'}' | b']' if self.depth > 1 => self.depth -= 1,
            b':' if is_top && self.has_ended && self.name.is_none() => self.begin_value(),
            b',' | b'}' if is_top && is_begun && self.name.is_some() => {
                self.end_value();
                self.is_over = byte == b'}';
            }
            // It ends a number or a word.
            _ if byte.is_ascii_whitespace() => self.has_ended |= is_top && is_begun,
            _ if is_top && !self.has_ended && self.name.is_some() => self.keep(&[byte]),
            _ => self.is_over = self.depth < 2,
        }
    }

    /// Takes note of the member. The value of a long one need not have ended for that.
    fn begin_value(&mut self) {
        let name = std::mem::take(&mut self.token);
        match name.as_slice() {
            b"jsonrpc" => self.has_version = true,
            b"result" | b"error" => self.has_answer = true,
            b"method" => self.has_method = true,
            b"id" | b"params" => {}
            _ => self.has_other = true,
        }
        (self.name, self.has_ended) = (Some(name), false);
    }

    fn end_value(&mut self) {
        let token = std::mem::take(&mut self.token);
        if self.name.take().as_deref() == Some(b"id") {
            let id = str::from_utf8(&token).ok().and_then(|text| text.parse().ok());
            // Two different ids leave the owner open.
            self.id = if self.id.is_none() || self.id == id { id } else { None };
        }
        self.has_ended = false;
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
            prop_assert_eq!(scan.id().is_some() && !scan.has_version && !scan.has_answer, false);
        }
    }
}
