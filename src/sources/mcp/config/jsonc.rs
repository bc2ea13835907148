//! JSON as people keep it in settings files: with comments, trailing commas and a byte order mark.
//!
//! Comments and trailing commas are overwritten with spaces, so every other byte stays at its line and
//! column, and a syntax error points to where it is in the file.

use serde_json::Value;

/// The value of a file, or `None` when there is nothing but space and comments in it. The error is a sentence about the text.
/// Nesting is limited by serde_json to 128 levels.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Value>, String> {
    let plain = strip(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?;
    if plain.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let text = std::str::from_utf8(&plain).map_err(|_| "is not UTF-8 text; save it as UTF-8.")?;
    serde_json::from_str(text).map(Some).map_err(|error| format!("is not valid JSON: {error}."))
}

/// The text with spaces for comments and trailing commas: same length, same lines.
fn strip(text: &[u8]) -> Result<Vec<u8>, String> {
    let (mut plain, mut at) = (text.to_vec(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let comment = match rest {
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', inside @ ..] => match inside.windows(2).position(|two| two == b"*/") {
                Some(length) => length + 4,
                None => {
                    return Err(format!("is not valid JSON: the comment {} has no end.", place(text, at)));
                }
            },
            _ => 0,
        };
        blank(&mut plain[at..at + comment]);
        if let [b'}' | b']', ..] = rest
            && let [value @ .., b','] = plain[..at].trim_ascii_end()
            // `[,]` and `[1,,]` are mistakes, not trailing commas.
            && !matches!(value.trim_ascii_end().last(), None | Some(b'[' | b'{' | b',' | b':'))
        {
            let comma = value.len();
            plain[comma] = b' ';
        }
        at += match rest {
            [b'"', ..] => length_of_string(rest),
            _ => comment.max(1),
        };
    }
    Ok(plain)
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

/// With both quotes.
fn length_of_string(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn place(text: &[u8], at: usize) -> String {
    let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = at - text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |p| p + 1) + 1;
    format!("at line {line} column {column}")
}

#[cfg(test)]
mod tests;
