//! Finds a key that an object names twice. Readers of JSON silently take one of the values; which one a model or a client meant,
//! nobody knows, so such a call cannot be read.

use std::borrow::Cow;
use std::fmt;

use foldhash::HashSet;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Up to this many keys are compared with each other; of more, a set is kept.
const FEW: usize = 8;
/// The characters of a key that an error shows.
const LONGEST_SHOWN: usize = 100;

/// True if an object in a text has a key twice, and for a text that is not strict JSON.
pub fn repeats_key(json: &str) -> bool {
    check_keys(json).is_err()
}

/// The error names the key that an object has twice, or says why the text is not strict JSON.
pub fn check_keys(json: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<EachKeyOnce>(json).map(|EachKeyOnce| ())
}

/// Reads any value whose objects have each key once, and keeps nothing of it.
struct EachKeyOnce;

impl<'de> Deserialize<'de> for EachKeyOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = EachKeyOnce;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut few, mut many) = (Vec::<Cow<'de, str>>::new(), HashSet::default());
        while let Some(key) = map.next_key::<ObjectKey<'de>>()? {
            if few.contains(&key.0) || many.contains(&key.0) {
                let shown: String = key.0.chars().take(LONGEST_SHOWN).collect();
                return Err(A::Error::custom(format_args!("the member '{shown}' occurs twice")));
            }
            match few.len() {
                FEW => drop(many.insert(key.0)),
                _ => few.push(key.0),
            }
            map.next_value::<EachKeyOnce>()?;
        }
        Ok(EachKeyOnce)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<EachKeyOnce>()?.is_some() {}
        Ok(EachKeyOnce)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(EachKeyOnce)
    }
}

/// A key, where it stands in the text if it has no escapes.
// Transparent: a number with many digits is a map of one member to serde_json, and its key is not a newtype.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct ObjectKey<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_twice_is_found_at_any_depth() {
        let many = |last: &str| {
            let keys: Vec<_> = (0..20).map(|at| format!("\"k{at}\": {at}")).collect();
            format!("{{{}, \"{last}\": 0}}", keys.join(", "))
        };
        for json in
            [r#"{"a": 1, "a": 1}"#, r#"[1.5, {"b": {"a": 1, "\u0061": 2}}]"#, &many("k3"), &many("k15")]
        {
            assert!(repeats_key(json), "{json}");
        }
        let big = r#"{"a": 123456789012345678901234567890, "b": 1e400, "c": [{"a": null}, {"a": true}]}"#;
        for json in [big, "{}", "[]", &many("k20")] {
            assert!(!repeats_key(json), "{json}");
        }
    }
}
