//! The arguments of a call.
//!
//! In a text with many calls, a map for each of them costs more than finding it. So short arguments in strict JSON stay the text
//! that the model wrote until somebody reads them.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Longer arguments are read at once: who reads them later may hold a lock that others wait for.
const LONGEST: usize = 4_000;
/// With no more brackets than this, no reader can run out of stack.
const MOST_BRACKETS: usize = 32;

/// A JSON object, which is read when it is needed.
#[derive(Clone, Default)]
pub struct CallArguments {
    json: Option<Box<str>>,
    map: OnceLock<Box<Map<String, Value>>>,
}

impl CallArguments {
    /// Takes an object whose syntax was checked. Only that: an escape may stand for no character.
    pub(super) fn from_checked(json: &str) -> Option<Self> {
        let brackets = || json.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
        // Each bracket has its closing one.
        let is_deep = json.len() > 2 * MOST_BRACKETS && brackets() > MOST_BRACKETS;
        let has_escapes = memchr::memchr(b'\\', json.as_bytes()).is_some();
        if json.len() > LONGEST || (has_escapes && json.contains("\\u")) || is_deep {
            return serde_json::from_str::<Map<_, _>>(json).ok().map(Self::from);
        }
        json.starts_with('{').then(|| Self { json: Some(json.into()), map: OnceLock::new() })
    }

    /// The object as strict JSON, if it was not read before: a short text without `\u`, not nested deeply.
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    pub fn into_map(self) -> Map<String, Value> {
        self.read();
        self.map.into_inner().map(|map| *map).unwrap_or_default()
    }

    fn read(&self) -> &Map<String, Value> {
        let read = || self.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        self.map.get_or_init(|| Box::new(read()))
    }
}

impl From<Map<String, Value>> for CallArguments {
    fn from(map: Map<String, Value>) -> Self {
        Self { json: None, map: OnceLock::from(Box::new(map)) }
    }
}

impl Deref for CallArguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        self.read()
    }
}

impl PartialEq for CallArguments {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq<Map<String, Value>> for CallArguments {
    fn eq(&self, other: &Map<String, Value>) -> bool {
        **self == *other
    }
}

impl fmt::Debug for CallArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

impl Serialize for CallArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_and_the_map_are_the_same_object() {
        for json in
            [r#"{}"#, r#"{"a": [1, {"b": "x\n"}], "a": 1e3}"#, r#"{"n": 123456789012345678901234567890}"#]
        {
            let arguments = CallArguments::from_checked(json).unwrap();
            assert_eq!(arguments.json(), Some(json));
            let map: Map<String, Value> = serde_json::from_str(json).unwrap();
            assert_eq!(arguments, map);
            assert_eq!(arguments.into_map(), map);
        }
    }

    #[test]
    fn what_readers_could_disagree_on_is_read_at_once() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(LONGEST));
        for json in [r#"{"a": "\u00e9"}"#, &long] {
            assert_eq!(CallArguments::from_checked(json).unwrap().json(), None, "{json}");
        }
        for json in [r#"{"a": "\ud800"}"#, "[]"] {
            assert!(CallArguments::from_checked(json).is_none(), "{json}");
        }
    }
}
