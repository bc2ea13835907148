//! The common case: a call in strict JSON with the usual keys, read by serde in one step.
//!
//! Anything else (other keys, a key given twice, arguments that are not an object) returns `None` and takes the
//! lenient path, which finds the end of the value first.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::draft::Draft;
use super::keys::has_swallowed_brace;

/// The call at the start of a text, and its length.
pub(super) fn read(text: &str) -> Option<(Draft, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<FastCall>();
    let FastCall(draft) = values.next()?.ok()?;
    let length = values.byte_offset();
    (!has_swallowed_brace(&text.as_bytes()[..length])).then_some((draft, length))
}

struct FastCall(Draft);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum FastKey {
    #[serde(alias = "tool_name")]
    Name,
    #[serde(alias = "parameters", alias = "args")]
    Arguments,
    Id,
    Source,
}

impl<'de> Deserialize<'de> for FastCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FastCallVisitor)
    }
}

struct FastCallVisitor;

impl<'de> Visitor<'de> for FastCallVisitor {
    type Value = FastCall;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FastCall, A::Error> {
        let mut draft = Draft::default();
        let mut arguments = None::<Map<String, Value>>;
        while let Some(key) = map.next_key()? {
            let new = match key {
                FastKey::Name => std::mem::replace(&mut draft.name, map.next_value()?).is_empty(),
                FastKey::Arguments => arguments.replace(map.next_value()?).is_none(),
                FastKey::Id => draft.id.replace(map.next_value()?).is_none(),
                FastKey::Source => draft.source.replace(map.next_value()?).is_none(),
            };
            if !new {
                return Err(Error::custom("a key given twice"));
            }
        }
        let unusual = draft.name.is_empty()
            || draft.name.trim() != draft.name
            || draft.id.as_deref().is_some_and(str::is_empty);
        if unusual {
            return Err(Error::custom("an unusual name or id"));
        }
        Ok(FastCall(Draft { arguments: arguments.unwrap_or_default(), ..draft }))
    }
}
