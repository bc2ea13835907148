//! Strings as models write them: either quote, raw line ends, Python escapes.

use super::notation::Notation;
use super::repair::{Repairs, SyntaxRepair};

/// Reads the string whose opening quote `text` starts with; returns it with the text after it.
pub(super) fn read<'a>(
    text: &'a str,
    notation: Notation,
    repairs: &mut Repairs,
) -> Result<(String, &'a str), String> {
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

/// As [`read`], for a string that has its own quotes inside, in pairs or as apostrophes: it ends at the first other quote
/// behind which the value ends.
pub(super) fn read_loosely<'a>(
    text: &'a str,
    notation: Notation,
    repairs: &mut Repairs,
) -> Result<(String, &'a str), String> {
    let quote = &text[..1];
    if text.starts_with(&quote.repeat(3)) && !ends_value(&text[2..]) {
        return read(text, notation, repairs);
    }
    let mut out = String::new();
    let mut rest = &text[1..];
    let mut is_open = false;
    loop {
        let plain = rest.find([quote.as_bytes()[0] as char, '\\']).ok_or("the text ends inside a string")?;
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            rest = escape(escaped, notation, repairs, &mut out)?;
            continue;
        }
        rest = &rest[1..];
        if !is_open && ends_value(rest) {
            return match holds_next_call(&out) {
                true => Err("a string goes on into the next call".into()),
                false => Ok((out, rest)),
            };
        }
        // A quote that ends a word before a comma or a bracket ends the string: what follows is damaged, and no part of it.
        let is_end = !is_open
            && out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '}'))
            && rest.trim_start().starts_with([',', ')', ']', '}']);
        if is_end {
            return Err("there is no argument behind a string".into());
        }
        let is_apostrophe =
            out.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric) && quote == "'";
        is_open ^= !is_apostrophe;
        repairs.add(SyntaxRepair::InnerQuotes);
        out.push_str(quote);
    }
}

/// True if a bracket that was opened outside of a string closes inside of it, and a call follows.
fn holds_next_call(string: &str) -> bool {
    let mut open = 0_usize;
    string.char_indices().any(|(at, letter)| {
        match letter {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => {
                let behind = &string[at + 1..];
                let next =
                    behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ']'));
                let name =
                    next.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
                return next.len() < behind.len() && name.len() < next.len() && name.starts_with('(');
            }
            _ => {}
        }
        false
    })
}

/// True if a value can end before this text: the next argument or item follows, or nothing but brackets.
fn ends_value(rest: &str) -> bool {
    let rest = rest.trim_start();
    if let Some(next) = rest.strip_prefix(',') {
        let next = next.trim_start();
        let name = next.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
        let is_named = name.len() < next.len() && name.starts_with('=') && !name.starts_with("==");
        return is_named || next.starts_with(['"', '\'', '[', '{', '(']);
    }
    let behind = rest.trim_start_matches(|c: char| matches!(c, ')' | ']' | '}') || c.is_whitespace());
    behind.is_empty() || (behind.len() < rest.len() && behind.starts_with(',')) || rest.starts_with(':')
}

/// Reads what follows a backslash; returns the text after it.
fn escape<'a>(
    text: &'a str,
    notation: Notation,
    repairs: &mut Repairs,
    out: &mut String,
) -> Result<&'a str, String> {
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
