//! Model text: any text is read without a panic, and chunks of any size give what the whole text gives.

use super::{INPUTS, chunks, members, text_of};
use serde_json::Value;
use toolhub::parse::{Event, ParseOptions, ParsedText, StreamParser, formats, parse};

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
    "=",
    "\"",
    "'",
    "\\",
    "```",
    "```json\n",
    "{\"name\": \"a\", \"arguments\": {\"x\": 1}}",
    "\"name\": \"a\"",
    "\"arguments\": {",
    "[a(x=1)]",
    "arguments {\"",
    "<think>",
    "</think>",
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
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|python_tag|>",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    " to=functions.a",
    "<|tool_call>call:a{x:<|\"|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
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

fn options(choice: u8) -> ParseOptions {
    // Mostly `auto`: it tries all of them.
    let formats = formats();
    let name = formats.get(usize::from(choice)).copied().unwrap_or("auto");
    ParseOptions::format(name).unwrap()
}

fn streamed(text: &str, options: &ParseOptions, sizes: &[u8]) -> ParsedText {
    let mut stream = StreamParser::new(options);
    let mut events: Vec<Event> = chunks(text, sizes).iter().flat_map(|chunk| stream.feed(chunk)).collect();
    events.extend(stream.finish());
    let text = events.into_iter().filter_map(|event| match event {
        Event::Text { text } => Some(text),
        _ => None,
    });
    ParsedText { text: text.collect(), calls: stream.calls_from(0).0, format: stream.format() }
}

#[test]
fn whole_text_and_chunks_give_the_same() {
    bolero::check!().with_type::<(u8, Vec<u8>, Vec<u8>)>().with_iterations(INPUTS).for_each(
        |(choice, bytes, sizes)| {
            let (text, options) = (text_of(bytes, PIECES), options(*choice));
            let whole = parse(&text, &options);
            assert_eq!(whole, streamed(&text, &options, sizes), "{text:?} in chunks of {sizes:?}");
            let (length, mut last) = (text.chars().count(), (0, 0));
            for call in &whole.calls {
                let (from, to) = call.span;
                // The calls of one JSON list share their span.
                let in_order = call.span == last || from >= last.1;
                assert!(in_order && from < to && to <= length, "{text:?}: {call:?} after {last:?}");
                last = call.span;
                assert!(call.error.is_some() || !call.name.is_empty(), "{text:?}: {call:?}");
            }
        },
    );
}

/// Arguments that a model wrote without a mistake come out as they were, and nothing is called a repair.
#[test]
fn correct_arguments_are_not_changed() {
    bolero::check!().with_type::<Vec<u8>>().with_iterations(INPUTS).for_each(|bytes| {
        let arguments = members(&mut bytes.iter().copied(), 3);
        let json = Value::Object(arguments.clone()).to_string();
        let text = format!("<tool_call>\n{{\"name\": \"t\", \"arguments\": {json}}}\n</tool_call>");
        let parsed = parse(&text, &ParseOptions::default());
        assert_eq!(parsed.calls.len(), 1, "{text:?}");
        let call = &parsed.calls[0];
        assert_eq!((call.error.as_deref(), &*call.arguments), (None, &arguments), "{text:?}");
        assert!(call.repairs.names().is_empty(), "{text:?}: {:?}", call.repairs);
    });
}

/// A model that stops in the middle of the closing brackets has still made its call, unless a bracket is left open where a
/// member should come: then what is missing is not known.
#[test]
fn missing_closing_brackets_are_repaired() {
    bolero::check!().with_type::<(u8, Vec<u8>)>().with_iterations(INPUTS).for_each(|(cut, bytes)| {
        let arguments = members(&mut bytes.iter().copied(), 3);
        let json = format!("{{\"name\": \"t\", \"arguments\": {}}}", Value::Object(arguments.clone()));
        let closers = json.len() - json.trim_end_matches(['}', ']']).len();
        let kept = &json[..json.len() - usize::from(*cut) % (closers + 1)];
        let text = format!("<tool_call>\n{kept}\n</tool_call>");
        let parsed = parse(&text, &ParseOptions::default());
        assert_eq!(parsed.calls.len(), 1, "{text:?}");
        let call = &parsed.calls[0];
        if kept.ends_with(['{', '[']) {
            assert!(call.error.is_some(), "{text:?}");
        } else {
            assert_eq!((call.error.as_deref(), &*call.arguments), (None, &arguments), "{text:?}");
        }
    });
}
