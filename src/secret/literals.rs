//! Lists and objects inside of a text, as JSON or Python writes them: which texts and numbers in them are secret. The rules
//! are those of data (`super::scrub`), so that a value and its text are treated alike.

use super::names::{NameStrength, name_strength};
use super::places::SecretPlace;
use super::values::{
    is_inner_secret, is_named_secret, is_placeholder, is_schema, is_secret_number, quotation,
};

/// Deeper than any schema. What is deeper is data.
const DEEPEST_SCHEMA: usize = 64;
/// So many names of an object are looked at to know that it is a schema.
const MOST_NAMES: usize = 40;

/// Reads the list or object that begins at `start`, which stands under a secret name, and adds its secrets. The end of what
/// was read; of a schema, that is its first bracket, since its members are named by others.
pub(super) fn read_literal(
    text: &str,
    start: usize,
    outer: NameStrength,
    found: &mut Vec<SecretPlace>,
) -> usize {
    let mut reader = LiteralReader {
        text,
        at: start,
        found: Vec::new(),
        levels: Vec::new(),
        names: Vec::new(),
        type_name: None,
        deepest: 0,
    };
    reader.read(outer);
    let is_shallow = reader.deepest <= DEEPEST_SCHEMA;
    if is_shallow && is_schema(reader.names.iter().copied(), reader.type_name) {
        return start + 1;
    }
    found.append(&mut reader.found);
    reader.at
}

struct LiteralReader<'a> {
    text: &'a str,
    at: usize,
    found: Vec<SecretPlace>,
    /// Of each bracket that is open, how sure what is in it is secret.
    levels: Vec<NameStrength>,
    /// The names in the outermost object.
    names: Vec<&'a str>,
    type_name: Option<&'a str>,
    deepest: usize,
}

/// The name that the next value stands under, and its strength.
type Member<'a> = Option<(&'a str, Option<NameStrength>)>;

impl<'a> LiteralReader<'a> {
    fn read(&mut self, outer: NameStrength) {
        let bytes = self.text.as_bytes();
        let mut member: Member<'a> = None;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'{' | b'[' | b'(' => {
                    let around = self.levels.last().copied().unwrap_or(outer);
                    let own = member.take().and_then(|(_, own)| own);
                    self.levels.push(own.map_or(around, |own| own.max(around)));
                    self.deepest = self.deepest.max(self.levels.len());
                    self.at += 1;
                }
                b'}' | b']' | b')' => {
                    self.levels.pop();
                    self.at += 1;
                    if self.levels.is_empty() {
                        return;
                    }
                }
                b',' => {
                    member = None;
                    self.at += 1;
                }
                b':' => self.at += 1,
                byte if byte.is_ascii_whitespace() => self.at += 1,
                b'"' | b'\'' | b'\\' => match self.string(member) {
                    Some(next) => member = next,
                    None => return,
                },
                b'-' | b'0'..=b'9' => self.number(member.take()),
                _ => match self.keyword() {
                    true => member = None,
                    false => return,
                },
            }
        }
    }

    fn strength(&self) -> NameStrength {
        self.levels.last().copied().unwrap_or(NameStrength::Weak)
    }

    /// A name or a text; the name for the next value. `None` if it is not quoted as in data.
    fn string(&mut self, member: Member<'a>) -> Option<Member<'a>> {
        let (inner, end) = quotation(self.text, self.at)?;
        let value = &self.text[inner.clone()];
        self.at = end;
        if self.text[end..].trim_start().starts_with(':') {
            if self.levels.len() == 1 && self.names.len() < MOST_NAMES {
                self.names.push(value);
            }
            return Some(Some((value, name_strength(value))));
        }
        if self.levels.len() == 1 && member.is_some_and(|(name, _)| name == "type") {
            self.type_name = Some(value);
        }
        let is_secret = match member {
            Some((name, Some(own))) => {
                is_named_secret(own, name, value) || is_inner_secret(self.strength(), value)
            }
            _ => is_inner_secret(self.strength(), value),
        };
        if is_secret && !is_placeholder(value) {
            self.found.push(SecretPlace { range: inner, quote: None });
        }
        Some(None)
    }

    fn number(&mut self, member: Member<'a>) {
        let start = self.at;
        let rest = &self.text[start + 1..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '+' | '-'));
        self.at = start + 1 + length.unwrap_or(rest.len());
        let strength =
            member.and_then(|(_, own)| own).map_or(self.strength(), |own| own.max(self.strength()));
        if is_secret_number(strength, &self.text[start..self.at]) {
            self.found.push(SecretPlace { range: start..self.at, quote: Some('"') });
        }
    }

    /// `true`, `null`, `None`.
    fn keyword(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        self.at += end;
        matches!(&rest[..end], "true" | "false" | "null" | "None" | "True" | "False")
    }
}
