//! Server-sent events out of a byte stream that may be cut anywhere.
//!
//! Every byte is looked at once, whatever the chunks; a line or an event that grows over the limit is an
//! error, so a server without line ends cannot fill the memory. Decoding waits for the whole line, so a
//! character that two chunks share is never torn.

use std::collections::VecDeque;
use std::fmt;

/// One event. Only what the chat API uses is kept: ids and retry hints are for resuming, which it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The `event:` field, empty when there was none.
    pub name: String,
    /// The `data:` lines, joined by line ends.
    pub data: String,
}

/// A line or an event is larger than the limit, in bytes, that the parser was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseTooLarge(pub usize);

impl fmt::Display for SseTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one event of the stream has more than {} bytes", self.0)
    }
}

impl std::error::Error for SseTooLarge {}

/// The parser: feed it bytes, take events out.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The current line so far, without its end.
    line: Vec<u8>,
    /// The event so far; `None` until it has a data line, because only those are dispatched.
    data: Option<String>,
    name: String,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line may begin with a byte order mark.
    first_line: bool,
    ready: VecDeque<SseEvent>,
}

impl SseParser {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: None,
            name: String::new(),
            after_cr: false,
            first_line: true,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next bytes. After an error the parser is of no more use.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), SseTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, tail) = bytes.split_at(end);
            self.extend_line(head)?;
            self.end_line()?;
            bytes = match tail {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend_line(bytes)
    }

    /// The next whole event, if there is one.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// The bytes have ended. What is left of an event without its blank line is returned: many servers
    /// end right after their last line. It may be torn, so the caller must be ready for half of it.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, SseTooLarge> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.dispatch();
        Ok(self.ready.pop_front())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseTooLarge> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(SseTooLarge(self.limit));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SseTooLarge> {
        let mut bytes = self.line.as_slice();
        if std::mem::take(&mut self.first_line) {
            bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        }
        let line = String::from_utf8_lossy(bytes);
        if line.is_empty() {
            self.dispatch();
        } else {
            // A line without a colon is a field without a value; a comment is a field without a name.
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.name),
                "data" => {
                    let used = self.data.as_ref().map_or(0, |data| data.len() + 1);
                    if used + value.len() > self.limit {
                        return Err(SseTooLarge(self.limit));
                    }
                    match &mut self.data {
                        Some(data) => {
                            data.push('\n');
                            data.push_str(value);
                        }
                        None => self.data = Some(value.to_owned()),
                    }
                }
                _ => {}
            }
        }
        self.line.clear();
        Ok(())
    }

    fn dispatch(&mut self) {
        let name = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            self.ready.push_back(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 1 << 20;

    /// The events of the chunks, and what is left at the end.
    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut parser = SseParser::new(LIMIT);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk).unwrap();
            events.extend(std::iter::from_fn(|| parser.next_event()));
        }
        events.extend(parser.finish().unwrap());
        events
    }

    fn data_of(text: &str) -> Vec<String> {
        parse([text.as_bytes()]).into_iter().map(|e| e.data).collect()
    }

    #[test]
    fn the_three_line_ends_and_both_spellings_of_a_field() {
        for text in ["data: a\n\ndata:b\n\n", "data: a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata:b\r\r"] {
            assert_eq!(data_of(text), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn several_data_lines_are_one_event() {
        assert_eq!(data_of("data: {\ndata:  \"a\": 1\ndata\ndata: }\n\n"), ["{\n \"a\": 1\n\n}"]);
    }

    #[test]
    fn comments_other_fields_and_empty_events_are_skipped() {
        let text = ": keep-alive\n\nid: 7\nretry: 10\n\nevent: ping\n\ndata: a\n\n:\n\n";
        assert_eq!(parse([text.as_bytes()]), [SseEvent { name: String::new(), data: "a".into() }]);
    }

    #[test]
    fn the_name_belongs_to_its_event_only() {
        let events = parse(["event: error\ndata: a\n\ndata: b\n\n".as_bytes()]);
        assert_eq!(events[0].name, "error");
        assert_eq!(events[1].name, "");
    }

    #[test]
    fn a_byte_order_mark_is_dropped_once() {
        assert_eq!(data_of("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(data_of("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    }

    #[test]
    fn the_end_of_the_bytes_ends_the_last_event() {
        assert_eq!(data_of("data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
        assert_eq!(data_of("data: a\n"), ["a"]);
    }

    #[test]
    fn bytes_that_are_no_utf8_cost_a_character_not_the_stream() {
        let events = parse([&b"data: a\xffb\n\ndata: c\n\n"[..]]);
        assert_eq!(events[0].data, "a\u{fffd}b");
        assert_eq!(events[1].data, "c");
    }

    #[test]
    fn an_endless_line_and_an_endless_event_are_errors() {
        for part in ["x".repeat(7), "data: 1234\n".to_owned()] {
            let mut parser = SseParser::new(100);
            let fed = (0..100).try_for_each(|_| parser.feed(part.as_bytes()));
            assert_eq!(fed, Err(SseTooLarge(100)), "{part:?}");
            assert!(parser.line.len() <= 100);
        }
    }

    #[test]
    fn many_small_events_are_no_large_one() {
        let mut parser = SseParser::new(100);
        for _ in 0..1000 {
            parser.feed(b"data: 1234\n\n: comment\n").unwrap();
            assert_eq!(parser.next_event().map(|e| e.data), Some("1234".into()));
        }
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "data: ?[a-z é漢😀:]{0,6}",
            ":[a-z]{0,3}",
            "event: [a-z]{0,3}",
            Just(String::new()),
            "\\PC{0,6}",
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        prop::collection::vec((line, end), 0..12)
            .prop_map(|lines| lines.into_iter().map(|(l, e)| l + e).collect())
    }

    proptest! {
        #[test]
        fn where_the_chunks_are_cut_does_not_matter(
            text in lines(), cuts in prop::collection::vec(0usize..200, 0..8)
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]);
            prop_assert_eq!(parse(chunks), parse([bytes]));
            prop_assert_eq!(parse(bytes.chunks(1)), parse([bytes]));
        }

        #[test]
        fn what_was_written_is_read(
            events in prop::collection::vec(("[a-z]{0,4}", "[^\r\n]{0,9}(\n[^\r\n]{0,9}){0,3}"), 0..6)
        ) {
            let text: String = events.iter().map(|(name, data)| {
                let lines: String = data.split('\n').map(|l| format!("data: {l}\n")).collect();
                format!("event: {name}\n{lines}\n")
            }).collect();
            let expected: Vec<SseEvent> = events.into_iter()
                .map(|(name, data)| SseEvent { name, data }).collect();
            prop_assert_eq!(parse([text.as_bytes()]), expected);
        }

        #[test]
        fn any_bytes_are_survived(chunks in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
            parse(chunks.iter().map(Vec::as_slice));
        }
    }
}
