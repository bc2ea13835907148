//! Fuzz targets: every reader of foreign text, on arbitrary input.
//!
//! As tests they run a few hundred inputs each; `make fuzz` runs each for minutes. A failure prints the input and
//! `BOLERO_RANDOM_SEED=…`, which repeats it: `BOLERO_RANDOM_SEED=… cargo test --test it fuzz::NAME`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod config;
mod front_matter;
mod gateway;
mod json_rpc;
mod parser;
mod schema;
mod sse;
mod truncation;

use serde_json::{Map, Value, json};

/// Inputs of one target in an ordinary test run.
const INPUTS: usize = 300;

/// Text from bytes: a low byte is a piece of the target's grammar, any other is itself.
fn text_of(bytes: &[u8], pieces: &[&str]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match pieces.get(usize::from(*byte)) {
            Some(piece) => text.push_str(piece),
            None => text.push(char::from(*byte)),
        }
    }
    text
}

/// The text cut into pieces of these sizes, in characters.
fn chunks(text: &str, sizes: &[u8]) -> Vec<String> {
    let mut sizes = sizes.iter().copied().chain([7]).cycle();
    let (mut chunks, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let size = usize::from(sizes.next().unwrap_or(1)).max(1);
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        chunks.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    chunks
}

/// A JSON value from bytes, no deeper than `depth`.
fn value_of(bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Value {
    const TEXTS: &[&str] = &[
        "",
        "a",
        "5",
        "-1.5",
        "true",
        "None",
        "[1]",
        "{\"a\": 1}",
        "\"",
        "\\",
        "\n",
        "é🌧️",
        "</tool_call>",
        "\u{0}",
    ];
    let mut next = || bytes.next().unwrap_or(0);
    match next() % if depth == 0 { 6 } else { 8 } {
        0 => Value::Null,
        1 => json!(next() % 2 == 0),
        2 => json!(i64::from(next()) - 100),
        3 => json!(f64::from(next()) / 8.0),
        4 => json!(TEXTS[usize::from(next()) % TEXTS.len()]),
        5 => json!([i64::MAX, u64::MAX, 1e300]),
        6 => (0..next() % 4).map(|_| value_of(bytes, depth - 1)).collect(),
        _ => Value::Object(members(bytes, depth)),
    }
}

fn members(bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Map<String, Value> {
    let count = bytes.next().unwrap_or(0) % 4;
    let mut member = |_| {
        let name = ["a", "b", "c", "名"][usize::from(bytes.next().unwrap_or(0)) % 4].to_owned();
        (name, value_of(bytes, depth.saturating_sub(1)))
    };
    (0..count).map(&mut member).collect()
}
