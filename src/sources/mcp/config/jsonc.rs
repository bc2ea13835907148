//! JSON as people keep it in settings files: with comments, trailing commas and a byte order mark.
//!
//! Comments and trailing commas are overwritten with spaces, so every other byte stays at its line and
//! column, and a syntax error points to where it is in the file.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A parsed file, or `None` for a value when there is nothing but space and comments in it.
pub(super) struct Parsed {
    pub value: Option<Value>,
    /// The paths of keys that an object has more than once. The last one counts, as everywhere.
    pub repeated: Vec<String>,
}

/// The error is a sentence about the text. Nesting is limited by serde_json to 128 levels.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let plain = strip(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?;
    let mut repeated = Vec::new();
    if plain.iter().all(u8::is_ascii_whitespace) {
        return Ok(Parsed { value: None, repeated });
    }
    if std::str::from_utf8(&plain).is_err() {
        return Err("is not UTF-8 text; save it as UTF-8.".into());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(&plain);
    let node = Node { path: &mut String::new(), repeated: &mut repeated };
    let value = node.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok(Parsed { value: Some(value), repeated }),
        Err(error) => Err(format!("is not valid JSON: {error}.")),
    }
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

/// The name under which serde_json hands a number to a visitor, so that every digit of it is kept.
const NUMBER: &str = "$serde_json::private::Number";

/// Reads a value as serde_json does and also sees the keys that a map would swallow.
struct Node<'a> {
    /// Of the value being read, as in `mcpServers.github.env`.
    path: &'a mut String,
    repeated: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Node { path: self.path, repeated: self.repeated })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        let outside = self.path.len();
        while let Some(key) = map.next_key::<String>()? {
            if key == NUMBER {
                let digits: String = map.next_value()?;
                return digits.parse().map(Value::Number).map_err(A::Error::custom);
            }
            if outside > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            let value = map.next_value_seed(Node { path: self.path, repeated: self.repeated })?;
            if object.insert(key, value).is_some() {
                self.repeated.push(self.path.clone());
            }
            self.path.truncate(outside);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests;
