//! Where the text continues after a call that cannot be read, so that the sound calls after it are found.
//!
//! A call must not be made of a part of another one. So the end of a damaged call is taken only where it is certain: its brackets
//! close and each of its strings stands where a value can; or, in JSON, another object begins where it cannot be a part of
//! it. Otherwise nothing after it counts.

use super::json_calls::CallShape;
use super::keys::FIRST_KEYS;
use super::lenient::{self, MissingClosers, Notation};
use super::schemas::ToolSchemas;

/// After this many damaged calls, the rest is given up: the search for an end may look at all of the text.
pub(super) const MOST_DAMAGED: usize = 24;

/// The end of the sound value that a part of a list begins with.
pub(super) fn sound_end(text: &str, notation: Notation) -> Option<usize> {
    let read = lenient::read(text, notation, MissingClosers::NONE).ok()?;
    (read.cut.is_none() && ends_element(&text[read.end..])).then_some(read.end)
}

fn ends_element(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with([',', ';', ']'])
}

/// The end of the damaged call in JSON that a text begins with, if another value or the end of the list follows.
pub(super) fn damaged_end(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> Option<usize> {
    let next = end_before_next(text, shape, tools);
    let own = own_end(&text[..next.unwrap_or(text.len())]).filter(|end| ends_element(&text[*end..]));
    own.or(next)
}

/// The end of the value at the start of a text whose strings are sound: where its brackets close, or before an object where a key
/// should be.
fn own_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let (mut at, mut before, mut comma) = (0, b',', 0);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' | b'\'' => {
                at = string_end(bytes, at).filter(|end| fits(before, bytes, at, *end))?;
                before = byte;
                continue;
            }
            b'{' if open == [b'}'] && matches!(before, b',' | b';') => return Some(comma),
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop().filter(|closing| *closing == byte)?;
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            b',' | b';' => comma = at,
            _ => {}
        }
        if open.is_empty() {
            return None;
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        at += 1;
    }
    None
}

/// The end of the string whose quote is at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let mut next = at + 1;
    loop {
        next += memchr::memchr2(quote, b'\\', bytes.get(next..)?)?;
        if bytes[next] == quote {
            return Some(next + 1);
        }
        next += 2;
    }
}

/// True if a string stands where a value or a key can. After a lost quote the text between strings looks like strings: they
/// begin with a comma or a bracket, and other text follows.
fn fits(before: u8, bytes: &[u8], at: usize, end: usize) -> bool {
    let starts =
        |bytes: &[u8], with: &[u8]| bytes.trim_ascii_start().first().is_some_and(|byte| with.contains(byte));
    let begins = b"{[(,:=".contains(&before) || !starts(&bytes[at + 1..], b",:;=)]}");
    begins && (bytes[end..].trim_ascii_start().is_empty() || starts(&bytes[end..], b",:;)]}"))
}

/// The end of the value at the start of a text whose quotes cannot be trusted: as many brackets close as open, and a call
/// follows. Inside of a string, its quotes would have backslashes.
fn end_before_next(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> Option<usize> {
    let mut open = 0_isize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => continue,
        }
        if open > 0 || matches!(byte, b'{' | b'[') {
            continue;
        }
        let rest = text[at + 1..].trim_start();
        if rest.starts_with(['}', ']']) {
            continue;
        }
        let next = rest.strip_prefix([',', ';'])?.trim_start();
        return begins_call(next, shape, tools).then_some(at + 1);
    }
    None
}

/// True if a text begins with an object whose first key is that of a call.
fn begins_call(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> bool {
    let key = text.strip_prefix('{').map(str::trim_start).and_then(|text| text.strip_prefix('"'));
    let Some((key, _)) = key.and_then(|text| text.split_once('"')) else { return false };
    match shape {
        CallShape::Keyed => !tools.are_given() || tools.parameters(key).is_some(),
        _ => FIRST_KEYS.contains(&key),
    }
}
