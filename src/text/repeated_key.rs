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

/// Keys that begin so stand for numbers between serde and its formats. In a text they are keys like others, but serde would take
/// the object for a number.
const PRIVATE: &str = "$serde_json::private::";

/// True if an object in a text has a key twice or one that serde takes for its own, and for a text that is not strict JSON.
pub fn repeats_key(json: &str) -> bool {
    check_keys(json).is_err()
}

/// The error names the key that an object has twice, or says why the text is not strict JSON.
pub fn check_keys(json: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<EachKeyOnce>(json).map(|_| ())
}

/// Reads any value whose objects have each key once. Keeps only whether it is the digits of a number, which serde hands over as a
/// text of their own.
struct EachKeyOnce(bool);

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
            let is_private = key.0.starts_with(PRIVATE);
            match few.len() {
                FEW => drop(many.insert(key.0)),
                _ => few.push(key.0),
            }
            let EachKeyOnce(is_digits) = map.next_value()?;
            if is_private && !is_digits {
                return Err(A::Error::custom("a member has a name of serde's own"));
            }
        }
        Ok(EachKeyOnce(false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<EachKeyOnce>()?.is_some() {}
        Ok(EachKeyOnce(false))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
    }

    fn visit_string<E>(self, _: String) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(true))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(EachKeyOnce(false))
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
        for key in ["$serde_json::private::Number", "\\u0024serde_json::private::RawValue"] {
            for value in ["\"5\"", "\"\\u0035\"", "5", "{}"] {
                for json in [format!("{{\"{key}\": {value}}}"), format!("[{{\"a\": 1, \"{key}\": {value}}}]")]
                {
                    assert!(repeats_key(&json), "{json}");
                }
            }
        }
        let big = r#"{"a": 123456789012345678901234567890, "b": 1e400, "c": [{"a": null}, {"a": true}]}"#;
        for json in [big, "{}", "[]", &many("k20")] {
            assert!(!repeats_key(json), "{json}");
        }
    }
}
