//! A whole text: a stream of one delta.

use super::found::{FoundText, WholeText};
use super::options::ParseOptions;
use super::parsed::ParsedText;
use super::stream::StreamParser;

/// Finds the calls in a text.
pub fn parse(text: &str, options: &ParseOptions) -> ParsedText {
    find(WholeText::new(text.to_owned()), options).into_parsed()
}

/// As [`parse`], for a text that is read where its owner keeps it.
pub fn find(text: WholeText, options: &ParseOptions) -> FoundText {
    StreamParser::read_whole(text, options)
}
