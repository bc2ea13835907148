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
    let mut plain = text.to_vec();
    let mut at = 0;
    // The last byte that was neither space nor comment, and the one before it.
    let (mut before, mut last) = (None::<u8>, None::<(usize, u8)>);
    while at < text.len() {
        let end = match text[at] {
            b'"' => end_of_string(text, at),
            b'/' if text[at..].starts_with(b"//") => {
                let end = text[at..].iter().position(|b| *b == b'\n').map_or(text.len(), |p| at + p);
                blank(&mut plain[at..end]);
                at = end;
                continue;
            }
            b'/' if text[at..].starts_with(b"/*") => {
                let Some(length) = text[at + 2..].windows(2).position(|w| w == b"*/") else {
                    return Err(format!("is not valid JSON: the comment {} has no end.", place(text, at)));
                };
                let end = at + 2 + length + 2;
                blank(&mut plain[at..end]);
                at = end;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'}' | b']' => {
                // `[,]` and `[1,,]` are mistakes, not trailing commas.
                if let (Some((comma, b',')), Some(value)) = (last, before)
                    && !matches!(value, b'[' | b'{' | b',' | b':')
                {
                    plain[comma] = b' ';
                }
                at + 1
            }
            _ => at + 1,
        };
        before = last.map(|(_, byte)| byte);
        last = Some((at, text[at]));
        at = end;
    }
    Ok(plain)
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

/// `start` is on the opening quote.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn place(text: &[u8], at: usize) -> String {
    let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = at - text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |p| p + 1) + 1;
    format!("at line {line} column {column}")
}

#[cfg(test)]
mod tests;
