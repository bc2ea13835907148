//! A call as it is kept until somebody asks: what is seldom looked at is made then.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::ParsedCall;
use super::lenient::Repairs;

/// Longer arguments are read at once: checking them first would cost as much.
const LONGEST: usize = 4096;
/// Deeper ones too, and numbers that may not fit.
const DEEPEST: usize = 64;
const LONGEST_NUMBER: usize = 200;

/// What a call is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// In a box, since calls are moved often and a map is large.
    Read(Box<Map<String, Value>>),
    /// An object in strict JSON that is known to be readable.
    Json(Box<str>),
}

impl Default for Given {
    fn default() -> Self {
        Given::Read(Box::default())
    }
}

impl Given {
    /// Takes an object in strict JSON, unread if that is safe; `None` if it cannot be read.
    pub fn of(text: &str) -> Option<Self> {
        match text.starts_with('{') {
            true if is_harmless(text.as_bytes()) => Some(Given::Json(text.into())),
            true => serde_json::from_str(text).ok().map(|map| Given::Read(Box::new(map))),
            false => None,
        }
    }

    pub fn map(self) -> Map<String, Value> {
        match self {
            Given::Read(map) => *map,
            Given::Json(text) => serde_json::from_str(&text).unwrap_or_default(),
        }
    }

    pub fn json(&self) -> String {
        match self {
            Given::Read(map) => serde_json::to_string(map).unwrap_or_default(),
            Given::Json(text) => text.to_string(),
        }
    }
}

/// Whether strict JSON can be read for sure: skipping a value forgives half characters, huge numbers and any depth.
fn is_harmless(json: &[u8]) -> bool {
    if json.len() > LONGEST {
        return false;
    }
    let (mut open, mut digits, mut last) = (0, 0, 0);
    for &byte in json {
        match byte {
            b'{' | b'[' => open += 1,
            b'u' if last == b'\\' => return false,
            b'e' | b'E' if digits > 0 => return false,
            _ => {}
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > LONGEST_NUMBER {
            return false;
        }
        last = byte;
    }
    open <= DEEPEST
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Id {
    Own(String),
    /// Made for the call in this place.
    Made(usize),
}

impl Id {
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Id::Own(id) => Cow::Borrowed(id),
            Id::Made(index) => Cow::Owned(format!("call_{}", index + 1)),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundCall {
    pub name: String,
    pub given: Given,
    pub id: Id,
    pub source: Option<String>,
    pub span: (usize, usize),
    pub(super) repairs: Repairs,
    pub error: Option<String>,
    pub raw: Option<String>,
}

impl FoundCall {
    pub fn id(&self) -> Cow<'_, str> {
        self.id.text()
    }

    pub fn repairs(&self) -> impl Iterator<Item = &'static str> {
        self.repairs.names()
    }
}

impl From<FoundCall> for ParsedCall {
    fn from(call: FoundCall) -> Self {
        ParsedCall {
            id: call.id().into_owned(),
            repairs: call.repairs().map(str::to_owned).collect(),
            name: call.name,
            arguments: call.given.map(),
            source: call.source,
            span: call.span,
            error: call.error,
            raw: call.raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_text_can_be_read() {
        for text in ["{}", r#"{"a": [1.5, "x\n", null], "b": {"c": true}}"#, r#"{"e1": "1 e", "a": "\\u"}"#] {
            let given = Given::of(text).unwrap();
            assert!(serde_json::from_str::<Map<String, Value>>(text).is_ok());
            assert_eq!(given.clone().map(), serde_json::from_str(text).unwrap(), "{text}");
        }
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(200), "]".repeat(200));
        for text in [r#"{"a": 1e999}"#, r#"{"a": "\ud800"}"#, deep.as_str(), "[1]", "5"] {
            assert_eq!(Given::of(text), None, "{text}");
        }
    }
}
