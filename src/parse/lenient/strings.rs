//! Strings as models write them: either quote, raw line ends, Python escapes.

use super::{Notation, Repairs, SyntaxRepair};
use toolhub_text::message::Message;

/// Reads the string whose opening quote `text` starts with; returns it with the text after it.
pub fn read<'a>(
    text: &'a str,
    notation: Notation,
    repairs: &mut Repairs,
) -> Result<(String, &'a str), Message> {
    let quote = &text[..1];
    let triple = [quote, quote, quote].concat();
    let python = notation == Notation::Python;
    let closing = if python && text.starts_with(&triple) { triple.as_str() } else { quote };
    if quote == "'" && !python {
        repairs.add(SyntaxRepair::SingleQuotes);
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
            b'\\' => rest = escape(&rest[1..], notation, repairs, &mut out)?,
            byte if byte == quote => {
                if let Some(after) = rest.strip_prefix(closing) {
                    return Ok((out, after));
                }
                out.push(byte as char);
                rest = &rest[1..];
            }
            control => {
                if !python {
                    repairs.add(SyntaxRepair::RawCharacters);
                }
                out.push(control as char);
                rest = &rest[1..];
            }
        }
    }
}

/// Reads what follows a backslash; returns the text after it.
fn escape<'a>(
    text: &'a str,
    notation: Notation,
    repairs: &mut Repairs,
    out: &mut String,
) -> Result<&'a str, Message> {
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
        '\n' if notation == Notation::Python => {}
        'u' | 'x' => return Ok(code(repairs, escaped, chars.as_str(), out)),
        other => {
            repairs.add(SyntaxRepair::BadEscape);
            out.push('\\');
            out.push(other);
        }
    }
    Ok(chars.as_str())
}

/// A character given by its code; two `\u` may form a surrogate pair.
fn code<'a>(repairs: &mut Repairs, kind: char, text: &'a str, out: &mut String) -> &'a str {
    let width = if kind == 'x' { 2 } else { 4 };
    let hex = |text: &str| text.get(..width).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = hex(text) else {
        repairs.add(SyntaxRepair::BadEscape);
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
