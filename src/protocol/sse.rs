//! Server-sent events from a byte stream that may be split anywhere.
//!
//! Every byte is read once, whatever the chunks. A line or an event that exceeds the limit is handed out in pieces, so a
//! server without line ends cannot fill the memory. Decoding waits for the whole line, so a character that is
//! split between two chunks stays intact.

use std::collections::VecDeque;
use std::time::Duration;

/// An id is sent back in a header, where a longer one would be refused.
const LONGEST_ID: usize = 4096;
/// A line buffer larger than this is freed once its line is done.
const KEPT_LINE: usize = 64 * 1024;

/// One event. The parser keeps its id: see [`SseParser::last_id`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The `event:` field; empty if there was none.
    pub name: String,
    /// The `data:` lines, joined by line ends.
    pub data: String,
}

/// What was found in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    Event(SseEvent),
    /// A piece of the data of an event that is larger than the limit; an empty one for any other line that is.
    LargeData(Vec<u8>),
    /// The end of such an event.
    LargeEnd,
}

impl SseItem {
    /// A whole event; `None` for a part of one over the limit.
    pub fn whole(self) -> Option<SseEvent> {
        match self {
            SseItem::Event(event) => Some(event),
            SseItem::LargeData(_) | SseItem::LargeEnd => None,
        }
    }
}

/// The parser: feed it bytes, take events out.
#[derive(Debug, Default)]
pub struct SseParser {
    limit: usize,
    /// The current line so far, without its end.
    line: Vec<u8>,
    /// The event so far; `None` until it has a data line, because only those are dispatched.
    data: Option<String>,
    name: String,
    /// The id of the event so far, and that of the last whole event.
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may begin with a byte order mark, is over.
    has_begun: bool,
    /// The event so far is over the limit.
    in_large_event: bool,
    /// The current line is over the limit: whether it is a data line.
    in_large_line: Option<bool>,
    ready: VecDeque<SseItem>,
}

impl SseParser {
    pub fn new(limit: usize) -> Self {
        SseParser { limit, ..SseParser::default() }
    }

    /// The parser of a stream that goes on where this one broke.
    pub fn resumed(&self) -> Self {
        SseParser { last_id: self.last_id.clone(), retry: self.retry, ..SseParser::new(self.limit) }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, tail) = bytes.split_at(end);
            self.extend_line(head);
            self.end_line();
            bytes = match tail {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend_line(bytes);
    }

    /// The next whole event, or the next piece of one over the limit.
    pub fn next_item(&mut self) -> Option<SseItem> {
        self.ready.pop_front()
    }

    /// The id of the last complete event that had one: where an interrupted stream can be resumed.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// The reconnection delay that the server asked for.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream has ended. An event without its final blank line counts too: many servers end right after their last
    /// line. It may be incomplete, and the caller must expect that.
    pub fn finish(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch();
        // A large event that broke off has no end.
        if self.ready.back() == Some(&SseItem::LargeEnd) {
            self.ready.pop_back();
        }
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        match self.in_large_line {
            Some(true) => self.push_data(bytes),
            Some(false) => {}
            None if self.line.len() + bytes.len() > self.limit => self.begin_large_line(bytes),
            None => self.line.extend_from_slice(bytes),
        }
    }

    /// The current line gets too long with these bytes.
    fn begin_large_line(&mut self, bytes: &[u8]) {
        const DATA: &[u8] = b"data:";
        let mut line = std::mem::take(&mut self.line);
        let (name, rest) = bytes.split_at(DATA.len().saturating_sub(line.len()).min(bytes.len()));
        line.extend_from_slice(name);
        let is_data = line.starts_with(DATA);
        self.in_large_line = Some(is_data);
        if is_data {
            self.begin_large_event();
            self.push_data(&line[DATA.len()..]);
            self.push_data(rest);
        } else {
            self.ready.push_back(SseItem::LargeData(Vec::new()));
        }
    }

    fn begin_large_event(&mut self) {
        if !std::mem::replace(&mut self.in_large_event, true)
            && let Some(data) = self.data.take()
        {
            self.push_data(data.as_bytes());
        }
        self.push_data(b"\n");
    }

    fn push_data(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.ready.push_back(SseItem::LargeData(bytes.to_vec()));
        }
    }

    fn end_line(&mut self) {
        if self.in_large_line.take().is_some() {
            self.has_begun = true;
            return;
        }
        let mut line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.dispatch();
        } else {
            self.take_field(&String::from_utf8_lossy(bytes));
        }
        line.clear();
        line.shrink_to(KEPT_LINE);
        self.line = line;
    }

    fn take_field(&mut self, line: &str) {
        // A line without a colon is a field without a value; a comment is a field without a name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.add_data(value),
            "id" if value.len() <= LONGEST_ID && !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &str) {
        let used = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if self.in_large_event || used + value.len() > self.limit {
            self.begin_large_event();
            return self.push_data(value.as_bytes());
        }
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }

    fn dispatch(&mut self) {
        let name = std::mem::take(&mut self.name);
        if let Some(id) = self.id.take() {
            // An empty id clears the one before it.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        if std::mem::take(&mut self.in_large_event) {
            self.ready.push_back(SseItem::LargeEnd);
        } else if let Some(data) = self.data.take() {
            self.ready.push_back(SseItem::Event(SseEvent { name, data }));
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
        parse_all(chunks).0
    }

    fn parse_all<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SseEvent>, SseParser) {
        let mut parser = SseParser::new(LIMIT);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk);
            events.extend(std::iter::from_fn(|| parser.next_item()));
        }
        parser.finish();
        events.extend(std::iter::from_fn(|| parser.next_item()));
        (events.into_iter().map(|item| item.whole().unwrap()).collect(), parser)
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
    fn ids_count_when_their_event_is_whole_and_stay_until_the_next() {
        let mut parser = SseParser::new(LIMIT);
        let mut last_id_after = |text: &str| {
            parser.feed(text.as_bytes());
            parser.last_id().map(str::to_owned)
        };
        assert_eq!(last_id_after("id: a\ndata: 1\n"), None);
        assert_eq!(last_id_after("\n"), Some("a".into()));
        assert_eq!(last_id_after("data: 2\n\nid: b"), Some("a".into()));
        assert_eq!(last_id_after("\n\n"), Some("b".into()), "an event without data has an id too");
        assert_eq!(last_id_after("id: c\0d\n\n"), Some("b".into()));
        assert_eq!(last_id_after(&format!("id: {}\n\n", "x".repeat(5000))), Some("b".into()));
        assert_eq!(last_id_after("id\n\n"), None);
    }

    #[test]
    fn a_retry_hint_is_a_number_of_milliseconds() {
        let retry = |text: &str| {
            let mut parser = SseParser::new(LIMIT);
            parser.feed(text.as_bytes());
            parser.retry()
        };
        assert_eq!(retry("retry: 50\n"), Some(Duration::from_millis(50)));
        assert_eq!(retry("retry: 50\nretry: soon\nretry: -1\nretry:\n"), Some(Duration::from_millis(50)));
        assert_eq!(retry("retry: 99999999999999999999999\n"), None);
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
    fn bytes_that_are_not_utf8_cost_a_character_not_the_stream() {
        let events = parse([&b"data: a\xffb\n\ndata: c\n\n"[..]]);
        assert_eq!(events[0].data, "a\u{fffd}b");
        assert_eq!(events[1].data, "c");
    }

    #[test]
    fn an_endless_line_and_an_endless_event_are_told() {
        for part in ["x".repeat(7), "data: 1234\n".to_owned()] {
            let mut parser = SseParser::new(100);
            let told = (0..100).find(|_| {
                parser.feed(part.as_bytes());
                parser.next_item().is_some_and(|item| item.whole().is_none())
            });
            assert!(told.is_some_and(|parts| parts * part.len() < 300), "{part:?}");
            assert!(parser.line.len() <= 100);
        }
    }

    #[test]
    fn an_event_that_gets_too_large_with_its_last_bytes_is_told() {
        let mut parser = SseParser::new(10);
        parser.feed(b"data: 12\ndata: 34\ndata: 56\ndata: 78");
        assert_eq!(parser.next_item(), None);
        parser.finish();
        assert!(matches!(parser.next_item(), Some(SseItem::LargeData(_))));
        assert!(!std::iter::from_fn(|| parser.next_item()).any(|item| item == SseItem::LargeEnd));
    }

    #[test]
    fn many_small_events_are_not_a_large_one() {
        let mut parser = SseParser::new(100);
        for _ in 0..1000 {
            parser.feed(b"data: 1234\n\n: comment\n");
            assert_eq!(parser.next_item().and_then(SseItem::whole).map(|e| e.data), Some("1234".into()));
        }
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "data: ?[a-z é漢😀:]{0,6}",
            ":[a-z]{0,3}",
            "event: [a-z]{0,3}",
            "id: ?[a-z0-9]{0,3}",
            "retry: ?[0-9a]{0,4}",
            Just(String::new()),
            "\\PC{0,6}",
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        prop::collection::vec((line, end), 0..12)
            .prop_map(|lines| lines.into_iter().map(|(l, e)| l + e).collect())
    }

    /// The data of large events as one text each, next to the whole events.
    fn skip_large(limit: usize, chunks: &[&[u8]]) -> Vec<Result<String, String>> {
        let mut parser = SseParser::new(limit);
        let (mut found, mut large) = (Vec::new(), Vec::new());
        let mut take = |parser: &mut SseParser| {
            while let Some(item) = parser.next_item() {
                match item {
                    SseItem::Event(event) => found.push(Ok(event.data)),
                    SseItem::LargeData(bytes) => large.extend(bytes),
                    SseItem::LargeEnd => {
                        let text = String::from_utf8(std::mem::take(&mut large)).unwrap();
                        found.push(Err(text.trim().to_owned()));
                    }
                }
            }
        };
        for chunk in chunks {
            parser.feed(chunk);
            take(&mut parser);
        }
        found
    }

    #[test]
    fn an_event_over_the_limit_is_skipped_and_the_next_is_whole() {
        let text = b"data: 0123456789abcdef\n\ndata: ok\n\n: a comment that is much too long\ndata: 1\n\n\
            data: 12345\ndata: 67890\ndata: abcde\nevent: message\n\ndata: end\n\n";
        let expected: Vec<Result<String, String>> = vec![
            Err("0123456789abcdef".into()),
            Ok("ok".into()),
            Ok("1".into()),
            Err("12345\n67890\nabcde".into()),
            Ok("end".into()),
        ];
        for size in [1, 2, 7, 1000] {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(skip_large(14, &chunks)[..], expected[..], "chunks of {size}");
        }
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
            let (events, whole) = parse_all([bytes]);
            for (cut_events, cut) in [parse_all(chunks), parse_all(bytes.chunks(1))] {
                prop_assert_eq!(&cut_events, &events);
                prop_assert_eq!((cut.last_id(), cut.retry()), (whole.last_id(), whole.retry()));
            }
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
