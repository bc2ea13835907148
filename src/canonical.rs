//! One form for equal values: what is compared by content is compared in this form, or by its digest.
//!
//! It follows RFC 8785: no blanks, keys sorted, and a number is written in one way (`1.0` is `1`). It goes further where that
//! standard would lose something: integers are exact at any size, and texts are compared in Unicode's form NFC.
//!
//! What proves something (the ledger, approvals, cassettes, the audit log) uses [`canonical`]: a person who approves `1` has
//! approved `1.0`. A result that is shared between calls uses [`exact`], which differs in one point: numbers and texts keep
//! their spelling, because a tool can tell them apart. On most disks the two spellings of `é` are two files.

use icu_normalizer::ComposingNormalizerBorrowed;
use ring::digest::SHA256;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// The value as text that is equal for equal values.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, Spelling::Any, &mut text);
    text
}

/// The value as text that is equal for values that no tool can tell apart: only the order of keys makes no difference.
pub fn exact(value: &Value) -> String {
    let mut text = String::new();
    write(value, Spelling::Kept, &mut text);
    text
}

/// Whether two spellings of a number or a text are the same.
#[derive(Clone, Copy)]
enum Spelling {
    Any,
    Kept,
}

/// The SHA-256 of the canonical form.
pub fn digest(value: &Value) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(ring::digest::digest(&SHA256, canonical(value).as_bytes()).as_ref());
    bytes
}

/// `sha256:` and 64 hexadecimal digits: the digest of the canonical form as text.
pub fn json_digest(value: &Value) -> String {
    text_digest(&canonical(value))
}

/// The digest of the arguments of a call. None at all are an empty object.
pub fn arguments_digest(arguments: &Value) -> String {
    match arguments {
        Value::Null => text_digest("{}"),
        given => json_digest(given),
    }
}

/// The digest of several parts as text. No part can be taken for the end of another.
pub fn digest_of(parts: &[&str]) -> String {
    text_digest(&parts.iter().map(|part| format!("{}:{part},", part.len())).collect::<String>())
}

fn text_digest(text: &str) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let hash = ring::digest::digest(&SHA256, text.as_bytes());
    let mut hex = String::with_capacity("sha256:".len() + 64);
    hex.push_str("sha256:");
    for byte in hash.as_ref() {
        hex.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    hex
}

fn write(value: &Value, spelling: Spelling, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match spelling {
            Spelling::Any => out.push_str(&canonical_number(number)),
            Spelling::Kept => out.push_str(number.as_str()),
        },
        Value::String(text) => write_text(&spelling.of(text), out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, spelling, out);
            }
            out.push(']');
        }
        Value::Object(map) => write_object(map, spelling, out),
    }
}

fn write_object(map: &Map<String, Value>, spelling: Spelling, out: &mut String) {
    let mut entries: Vec<(Cow<'_, str>, &Value)> =
        map.iter().map(|(key, value)| (spelling.of(key), value)).collect();
    // Stable: of keys that differ in their spelling only, the order of the object decides.
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    out.push('{');
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_text(&key, out);
        out.push(':');
        write(value, spelling, out);
    }
    out.push('}');
}

fn write_text(text: &str, out: &mut String) {
    // A text is always JSON; the empty one cannot come of it.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl Spelling {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Spelling::Any if !text.is_ascii() => ComposingNormalizerBorrowed::new_nfc().normalize(text),
            Spelling::Any | Spelling::Kept => Cow::Borrowed(text),
        }
    }
}

/// Digits alone are exact. A fraction is the number that a double holds; one without a fractional part is the integer.
fn canonical_number(number: &Number) -> Cow<'_, str> {
    let text = number.as_str();
    if !text.contains(['.', 'e', 'E']) {
        return Cow::Borrowed(if text == "-0" { "0" } else { text });
    }
    match text.parse::<f64>() {
        Ok(0.0) => Cow::Borrowed("0"),
        Ok(double) if double.is_finite() && double.fract() == 0.0 => Cow::Owned(format!("{double:.0}")),
        Ok(double) if double.is_finite() => Cow::Owned(format!("{double:?}")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn spellings_of_one_value_are_the_same() {
        for (one, other) in [
            (r#"{"b": 1, "a": 2}"#, r#"{"a":2,"b":1}"#),
            ("[1.0, -0, 1e2]", "[1,0,100]"),
            ("\"caf\\u00e9\"", "\"cafe\\u0301\""),
            ("1e22", "10000000000000000000000"),
            ("0.10", "0.1"),
            (r#""\u0041\/""#, r#""A/""#),
        ] {
            assert_eq!(of(one), of(other));
        }
        assert_eq!(of(r#"{"b":[true,null],"a":"x"}"#), r#"{"a":"x","b":[true,null]}"#);
    }

    #[test]
    fn different_values_stay_different() {
        for (one, other) in [
            ("1", "\"1\""),
            ("9007199254740993", "9007199254740992"),
            ("[1,2]", "[2,1]"),
            ("{}", "[]"),
            ("null", "false"),
            ("1e400", "1e401"),
            (r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#),
        ] {
            assert_ne!(of(one), of(other), "{one} {other}");
            assert_ne!(
                digest(&serde_json::from_str(one).unwrap()),
                digest(&serde_json::from_str(other).unwrap())
            );
        }
    }

    #[test]
    fn the_exact_form_knows_spellings_apart_but_not_the_order_of_keys() {
        let exact_of = |text: &str| exact(&serde_json::from_str(text).unwrap());
        assert_eq!(exact_of(r#"{"b": [1.0, "x"], "a": null}"#), exact_of(r#"{"a":null,"b":[1.0,"x"]}"#));
        for (one, other) in
            [("1", "1.0"), ("\"caf\\u00e9\"", "\"cafe\\u0301\""), ("1", "\"1\""), ("[1,2]", "[2,1]")]
        {
            assert_ne!(exact_of(one), exact_of(other), "{one} {other}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(digest_of(&["ab", "c"]), digest_of(&["a", "bc"]));
        assert_ne!(digest_of(&["a", ""]), digest_of(&["a"]));
        assert!(json_digest(&json!(1)).starts_with("sha256:"));
        assert_eq!(json_digest(&json!(1)), json_digest(&json!(1.0)));
        assert_eq!(arguments_digest(&Value::Null), arguments_digest(&json!({})));
        assert_eq!(arguments_digest(&json!({"a": null})), json_digest(&json!({"a": null})));
    }

    proptest! {
        #[test]
        fn the_form_is_json_and_its_own_form(text in "\\PC{0,30}", number in any::<f64>(), whole in any::<i64>()) {
            let value = json!({"t": text, "n": number, "w": [whole, {text.clone(): whole}]});
            let once = canonical(&value);
            prop_assert_eq!(canonical(&serde_json::from_str(&exact(&value)).unwrap()), once.clone());
            prop_assert_eq!(of(&once), once);
        }
    }
}
