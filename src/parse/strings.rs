//! Strings as models write them: either quote, raw line ends, escapes of Python.

use super::extent::Notation;
use super::lenient::{Reader, Repair};

/// Reads the string at the reader, which stands at its opening quote.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<String, String> {
    let text = reader.rest();
    let quote = &text[..1];
    let triple = [quote, quote, quote].concat();
    let python = reader.notation == Notation::Python;
    let closing = if python && text.starts_with(&triple) { triple.as_str() } else { quote };
    if quote == "'" && !python {
        reader.repairs.add(Repair::SingleQuotes);
    }
    let mut out = String::new();
    let mut rest = &text[closing.len()..];
    loop {
        let quote = closing.as_bytes()[0];
        let plain = rest.bytes().position(|byte| byte == quote || byte == b'\\' || byte < b' ');
        let Some(plain) = plain else { return Err("the text ends inside a string".into()) };
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        match rest.as_bytes()[0] {
            b'\\' => rest = escape(reader, &rest[1..], &mut out)?,
            byte if byte == quote => {
                if let Some(after) = rest.strip_prefix(closing) {
                    reader.at = reader.text.len() - after.len();
                    return Ok(out);
                }
                out.push(byte as char);
                rest = &rest[1..];
            }
            control => {
                if !python {
                    reader.repairs.add(Repair::RawCharacters);
                }
                out.push(control as char);
                rest = &rest[1..];
            }
        }
    }
}

/// Reads what follows a backslash, and gives what follows that.
fn escape<'a>(reader: &mut Reader<'_>, text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let mut chars = text.chars();
    let escaped = chars.next().ok_or("the text ends inside a string")?;
    match escaped {
        '"' | '\\' | '/' => out.push(escaped),
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        'b' => out.push('\u{8}'),
        'f' => out.push('\u{c}'),
        '\'' => out.push('\''),
        '\n' if reader.notation == Notation::Python => {}
        'u' | 'x' => return Ok(code(reader, escaped, chars.as_str(), out)),
        other => {
            reader.repairs.add(Repair::BadEscape);
            out.push('\\');
            out.push(other);
        }
    }
    Ok(chars.as_str())
}

/// A character by its number; two `\u` may make one.
fn code<'a>(reader: &mut Reader<'_>, kind: char, text: &'a str, out: &mut String) -> &'a str {
    let width = if kind == 'x' { 2 } else { 4 };
    let hex = |text: &str| text.get(..width).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = hex(text) else {
        reader.repairs.add(Repair::BadEscape);
        out.push('\\');
        out.push(kind);
        return text;
    };
    let after = &text[width..];
    if (0xD800..0xDC00).contains(&first)
        && let Some(pair) = after.strip_prefix("\\u")
        && let Some(second) = hex(pair).filter(|second| (0xDC00..0xE000).contains(second))
    {
        out.extend(char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)));
        return &pair[width..];
    }
    out.push(char::from_u32(first).unwrap_or('\u{FFFD}'));
    after
}
