//! A whole text: a stream of one delta.

use super::options::ParseOptions;
use super::parsed::{Event, ParsedText};
use super::stream::StreamParser;

/// Finds the calls in a text.
pub fn parse(text: &str, options: &ParseOptions) -> ParsedText {
    let mut stream = StreamParser::new(options);
    let mut around = String::new();
    for event in stream.feed_silently(text).into_iter().chain(stream.finish()) {
        match event {
            Event::Text { text } if around.is_empty() => around = text,
            Event::Text { text } => around.push_str(&text),
            _ => {}
        }
    }
    let format = stream.format();
    ParsedText { calls: stream.into_calls(), text: around, format }
}
