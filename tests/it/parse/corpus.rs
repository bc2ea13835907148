//! The development cases, 502 in 35 formats, and our own for 29 formats: with the format given, detected, and streamed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use toolhub::parse::{Event, ParseOptions, ParsedText, StreamParser, formats, parse};

#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    pub text: String,
    pub expected: Value,
    #[serde(default)]
    accept: Vec<Value>,
    expected_text: Option<String>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    parameters: Value,
}

impl Case {
    pub fn options(&self, format: &str) -> ParseOptions {
        let tools = self.tools.iter().map(|tool| (tool.name.clone(), tool.parameters.clone()));
        ParseOptions::format(format).unwrap().with_tools(tools)
    }

    fn accepts(&self, parsed: &ParsedText) -> bool {
        let calls = parsed.calls.iter().filter(|call| call.error.is_none());
        let calls: Vec<Value> =
            calls.map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
        let calls = Value::from(calls);
        calls == self.expected || self.accept.contains(&calls)
    }

    fn text_is_right(&self, text: &str) -> bool {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.expected_text.as_deref().is_none_or(|expected| words(expected) == words(text))
    }
}

/// The cases by format.
pub fn cases() -> BTreeMap<String, Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parse/cases");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lines = fs::read_to_string(&path).unwrap();
        let cases = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        found.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), cases);
    }
    found
}

/// A text in deltas of `size` characters.
pub fn streamed(text: &str, size: usize, options: &ParseOptions) -> (ParsedText, Vec<Event>) {
    let mut stream = StreamParser::new(options);
    let characters: Vec<char> = text.chars().collect();
    let mut events: Vec<Event> = Vec::new();
    for piece in characters.chunks(size) {
        events.extend(stream.feed(&piece.iter().collect::<String>()));
    }
    events.extend(stream.finish());
    let text = events.iter().filter_map(|event| match event {
        Event::Text { text } => Some(text.as_str()),
        _ => None,
    });
    (ParsedText { calls: stream.calls_from(0).0, text: text.collect(), format: stream.format() }, events)
}

/// The calls as reported by the events.
fn calls_of(events: &[Event]) -> Value {
    let mut calls: BTreeMap<usize, (String, String)> = BTreeMap::new();
    for event in events {
        match event {
            Event::CallStart { index, name } => {
                calls.insert(*index, (name.clone(), String::new()));
            }
            Event::ArgsDelta { index, delta } => calls.get_mut(index).unwrap().1.push_str(delta),
            _ => {}
        }
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let calls: Vec<Value> =
        calls.values().map(|(name, args)| json!({"name": name, "arguments": read(args)})).collect();
    calls.into()
}

#[test]
fn every_file_of_cases_names_a_format() {
    let mut known = formats();
    known.sort_unstable();
    assert_eq!(known, cases().keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_calls_and_the_text_of_the_development_cases() {
    let (mut all, mut given, mut detected) = (0, 0, 0);
    let mut failures = Vec::new();
    println!("{:20} {:>5} {:>6} {:>5}", "format", "cases", "given", "auto");
    for (format, cases) in cases() {
        let (mut here, mut guessed) = (0, 0);
        for case in &cases {
            for (asked, right) in [(format.as_str(), &mut here), ("auto", &mut guessed)] {
                let parsed = parse(&case.text, &case.options(asked));
                if case.accepts(&parsed) && case.text_is_right(&parsed.text) {
                    *right += 1;
                } else {
                    failures.push(format!("{} as {asked}: {:?}\n  {parsed:?}\n", case.id, case.text));
                }
            }
        }
        println!("{format:20} {:5} {here:6} {guessed:5}", cases.len());
        all += cases.len();
        given += here;
        detected += guessed;
    }
    println!("{:20} {all:5} {given:6} {detected:5}", "all");
    let failures = failures.concat();
    assert!(given * 100 >= all * 98, "given: {given} of {all}\n{failures}");
    assert!(detected * 100 >= all * 93, "detected: {detected} of {all}\n{failures}");
    print!("{failures}");
}

#[test]
fn a_stream_gives_what_the_whole_text_gives() {
    for (format, cases) in cases() {
        for (case, asked) in cases.iter().flat_map(|case| [(case, format.as_str()), (case, "auto")]) {
            let options = case.options(asked);
            let whole = parse(&case.text, &options);
            for size in [1, 3, 7, 64] {
                let (parsed, events) = streamed(&case.text, size, &options);
                assert_eq!(parsed, whole, "{} as {asked} in pieces of {size}", case.id);
                let good = whole.calls.iter().filter(|call| call.error.is_none());
                let good: Vec<Value> =
                    good.map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
                assert_eq!(calls_of(&events), Value::from(good), "{} as {asked}", case.id);
            }
        }
    }
}
