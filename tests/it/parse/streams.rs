//! Any text, split anywhere: the same calls, the same text, and no panic.

use std::collections::HashSet;

use proptest::prelude::*;
use toolhub::parse::{Event, ParseOptions, ParsedText, ReasoningMode, StreamParser, formats, parse};

/// Pieces that calls are made of, in any order.
const PIECES: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "\n",
    " ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "\"",
    "'",
    "\\",
    "```",
    "```json\n",
    "```python\n",
    "{\"name\": \"a\", \"arguments\": {\"x\": 1}}",
    "\"name\"",
    "\"arguments\": {",
    "[a(x=1)]",
    "[a(",
    "name",
    "arguments {\"",
    "<think>",
    "</think>",
    "[/THINK]",
    "`",
    "``",
    "> ",
    "- ",
    "  ```text\n",
    "````md\n",
    "~~~\n",
    "<!--",
    "-->",
    "“",
    "”",
    "word ",
    ".",
    "\"params\": ",
    "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": 1}}</tool_call>",
    "<tool_sep>",
    "<tool_call:a>",
    "<atem:invoke name=\"a\">",
    ">>>a\n",
    "to=a<|message|>",
    "<|tool_calls_section_begin|>",
    "<function=a>",
    "</function>",
    "<parameter=x>",
    "</parameter>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<invoke name=\"a\">",
    "</invoke>",
    "<parameter name=\"x\">",
    "<function_calls>",
    "</function_calls>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "a",
    "<|python_tag|>",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    "<|end|>",
    " to=functions.a",
    "<|tool_call>call:a{x:<|\"|>",
    "<|\"|>",
    "<tool_call|>",
    "functools[",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "]<]minimax[>[<invoke name=\"a\">",
    "Action: a\n",
    "Action Input: ",
    "Observation:",
    "//",
    "/*",
    "*/",
    "#",
    "é",
    "🌧️",
    "1",
    "true",
    "None",
    "\r\n",
    "<",
    "|>",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = ParseOptions> {
    let mut names = formats();
    names.extend(["auto"; 10]);
    let modes = prop::sample::select(vec![ReasoningMode::Auto, ReasoningMode::Open, ReasoningMode::Closed]);
    (prop::sample::select(names), modes)
        .prop_map(|(name, mode)| ParseOptions::format(name).unwrap().with_reasoning(mode))
}

fn collected(mut stream: StreamParser, mut events: Vec<Event>) -> ParsedText {
    events.extend(stream.finish());
    let texts = events.into_iter().filter_map(|event| match event {
        Event::Text { text } => Some(text),
        _ => None,
    });
    ParsedText { text: texts.collect(), calls: stream.calls_from(0).0, format: stream.format() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_way_of_cutting_gives_the_same(text in texts(), options in options(), sizes in prop::collection::vec(1usize..9, 1..40)) {
        let whole = parse(&text, &options);
        let mut stream = StreamParser::new(&options);
        let mut events = Vec::new();
        let mut characters = text.chars().peekable();
        let mut sizes = sizes.iter().cycle();
        while characters.peek().is_some() {
            let size = *sizes.next().unwrap();
            events.extend(stream.feed(&characters.by_ref().take(size).collect::<String>()));
        }
        prop_assert_eq!(collected(stream, events), whole);
    }

    #[test]
    fn bytes_may_be_cut_inside_a_character(text in texts()) {
        let options = ParseOptions::default();
        let mut stream = StreamParser::new(&options);
        let mut events = Vec::new();
        for byte in text.as_bytes() {
            events.extend(stream.feed_bytes(&[*byte]));
        }
        prop_assert_eq!(collected(stream, events), parse(&text, &options));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut stream = StreamParser::new(&ParseOptions::default());
        let events = stream.feed_bytes(&bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert_eq!(collected(stream, events), parse(&text, &ParseOptions::default()));
    }

    #[test]
    fn spans_and_text_make_up_the_input(text in texts(), options in options()) {
        let parsed = parse(&text, &options);
        let characters: Vec<char> = text.chars().collect();
        let mut last = (0, 0);
        let mut ids = HashSet::new();
        for call in &parsed.calls {
            let (from, to) = call.span;
            prop_assert!(from <= to && to <= characters.len());
            prop_assert!(call.span == last || from >= last.1, "{:?} after {last:?}", call.span);
            last = call.span;
            prop_assert!(ids.insert(&call.id), "the id {} twice", call.id);
            prop_assert_eq!(call.raw.is_some(), call.error.is_some());
            if let Some(raw) = &call.raw {
                prop_assert_eq!(raw, &characters[from..to].iter().collect::<String>());
            }
        }
        let outside = characters.len() - covered(&parsed);
        prop_assert!(parsed.text.chars().count() <= outside);
    }
}

/// The number of characters that the calls cover; those of one list share their span.
fn covered(parsed: &ParsedText) -> usize {
    let mut spans: Vec<_> = parsed.calls.iter().map(|call| call.span).collect();
    spans.dedup();
    spans.iter().map(|(from, to)| to - from).sum()
}

#[test]
fn arguments_are_reported_as_compact_json_however_the_text_is_cut() {
    let text = "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\":  1}}</tool_call>";
    let options = ParseOptions::default().with_reasoning(ReasoningMode::Closed);
    for size in [1, 5, text.len()] {
        let mut stream = StreamParser::new(&options);
        let pieces = text.as_bytes().chunks(size);
        let events: Vec<Event> = pieces.flat_map(|piece| stream.feed_bytes(piece)).collect();
        let delta = Event::ArgsDelta { index: 0, delta: "{\"x\":1}".into() };
        assert!(events.contains(&delta), "{events:?}");
    }
}

#[test]
fn text_after_half_a_character_does_not_wait_for_the_rest() {
    let mut stream = StreamParser::new(&ParseOptions::default());
    let mut events = stream.feed_bytes(&"é".as_bytes()[..1]);
    events.extend(stream.feed("a"));
    assert_eq!(collected(stream, events).text, "\u{FFFD}a");
}

#[test]
fn memory_is_that_of_the_call_under_way() {
    let mut stream = StreamParser::new(&ParseOptions::default());
    let delta = "some words that are no call <b> [1, 2] {\"a\": 1} ".repeat(100);
    for _ in 0..1_000 {
        stream.feed(&delta);
    }
    assert!(stream.held() < 64 * 1024, "{} bytes are held", stream.held());
}

#[test]
fn a_doubt_about_reasoning_may_come_after_a_call() {
    let section = "<|tool_calls_section_begin|><|tool_call_begin|>functions.b:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
    let call = "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>";
    let options = ParseOptions::default().with_reasoning(ReasoningMode::Closed);
    for (end, calls) in [("", 2), ("</think> Yes.", 0)] {
        let text = format!("With <think> {call}\n<think>\nSo {section} or not.{end}");
        let mut stream = StreamParser::new(&options);
        let events: Vec<Event> = text.chars().flat_map(|c| stream.feed(&c.to_string())).collect();
        let read = collected(stream, events);
        assert_eq!((read.calls.len(), &read), (calls, &parse(&text, &options)));
        assert!(calls > 0 || read.text == text, "{}", read.text);
    }
}
