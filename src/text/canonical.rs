//! One form for equal values: what is compared by content is compared in this form, or by its digest.
//!
//! It follows RFC 8785: no blanks, keys sorted, and a number is written in one way (`1.0` is `1`). It goes further where that
//! standard would lose something: integers are exact at any size. Texts count byte by byte: on most disks the two spellings of
//! `é` are two files.

use crate::invisible::shortened;
use crate::{Message, message};
use ring::digest::SHA256;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// The value as text that is equal for equal values.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// The same of an object's members.
pub fn canonical_object(members: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(members, &mut text);
    text
}

/// `sha256:` and 64 hexadecimal digits: the digest of the canonical form as text.
pub fn json_digest(value: &Value) -> String {
    text_digest(&canonical(value))
}

/// The digest of several parts as text. No part can be taken for the end of another.
pub fn digest_of(parts: &[&str]) -> String {
    text_digest(&parts.iter().map(|part| format!("{}:{part},", part.len())).collect::<String>())
}

/// `sha256:` and 64 hexadecimal digits.
pub fn text_digest(text: &str) -> String {
    bytes_digest(text.as_bytes())
}

/// The same of any bytes.
pub fn bytes_digest(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let hash = ring::digest::digest(&SHA256, bytes);
    let mut hex = String::with_capacity("sha256:".len() + 64);
    hex.push_str("sha256:");
    for byte in hash.as_ref() {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&canonical_number(number)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => write_object(map, out),
    }
}

fn write_object(map: &Map<String, Value>, out: &mut String) {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_text(key, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn write_text(text: &str, out: &mut String) {
    // Most texts have nothing to escape, and are spared the copy.
    match text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        true => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        // A text is always JSON; the empty one cannot come of it.
        false => out.push_str(&serde_json::to_string(text).unwrap_or_default()),
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

// Where two values differ, in words.

/// In characters, of a value that is shown.
const SHOWN: usize = 60;
/// So many equal ones are shown before the first that differs.
const BEFORE: usize = 20;

/// The first place where what was given differs from what was recorded: `args.rows[3].name: 'a' was recorded, 'b' was given`.
/// `name` is that of the values: `args`.
pub fn first_difference(name: &str, recorded: &Value, given: &Value) -> Option<Message> {
    let mut found = Vec::new();
    walk(name, Some(recorded), Some(given), 1, &mut found);
    found.pop()
}

/// In how many places they differ, up to `most`.
pub fn count_differences(recorded: &Value, given: &Value, most: usize) -> usize {
    let mut found = Vec::new();
    walk("args", Some(recorded), Some(given), most, &mut found);
    found.len()
}

fn walk(path: &str, recorded: Option<&Value>, given: Option<&Value>, most: usize, found: &mut Vec<Message>) {
    if found.len() >= most {
        return;
    }
    match (recorded, given) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(added) {
                walk(&format!("{path}.{key}"), one.get(key), other.get(key), most, found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for at in 0..one.len().max(other.len()) {
                walk(&format!("{path}[{at}]"), one.get(at), other.get(at), most, found);
            }
        }
        (Some(one), Some(other)) if canonical(one) == canonical(other) => {}
        (one, other) => {
            let from = same_start(one, other);
            let (one, other) = (shown(one, from), shown(other, from));
            found.push(message!("{}: {} was recorded, {} was given", path, one, other));
        }
    }
}

/// Where to begin to show two long texts, in bytes: a little before they differ. Prompts of one program all begin alike.
fn same_start(one: Option<&Value>, other: Option<&Value>) -> usize {
    let (Some(Value::String(one)), Some(Value::String(other))) = (one, other) else { return 0 };
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    if same < SHOWN - BEFORE {
        return 0;
    }
    one.char_indices().nth(same - BEFORE).map_or(0, |(at, _)| at)
}

/// `from`: what is before this byte of a text is left out.
fn shown(value: Option<&Value>, from: usize) -> String {
    let text = match value {
        None => return "nothing".to_owned(),
        Some(Value::String(text)) if from > 0 => format!("'…{}'", &text[from..]),
        Some(Value::String(text)) => format!("'{text}'"),
        Some(other) => other.to_string(),
    };
    shortened(&text, SHOWN).into_owned()
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
            ("\"caf\\u00e9\"", "\"cafe\\u0301\""),
            (r#"{"caf\u00e9":1}"#, r#"{"cafe\u0301":1}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#),
        ] {
            assert_ne!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(digest_of(&["ab", "c"]), digest_of(&["a", "bc"]));
        assert_ne!(digest_of(&["a", ""]), digest_of(&["a"]));
        assert!(json_digest(&json!(1)).starts_with("sha256:"));
        assert_eq!(json_digest(&json!(1)), json_digest(&json!(1.0)));
    }

    #[test]
    fn the_first_place_is_named() {
        let rows = |name: &str| json!({"rows": [1, 2, 3, {"name": name}]});
        assert_eq!(
            first_difference("args", &rows("a"), &rows("b")).as_deref(),
            Some("args.rows[3].name: 'a' was recorded, 'b' was given")
        );
        assert_eq!(first_difference("args", &json!({"a": 1}), &json!({"a": 1.0})), None);
        assert_eq!(
            first_difference("args", &json!({"a": 1}), &json!({"a": 1, "b": [2]})).as_deref(),
            Some("args.b: nothing was recorded, [2] was given")
        );
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        let prompt = |end: &str| json!({"q": format!("{}{end}", "Ünd so on. ".repeat(30))});
        assert_eq!(
            first_difference("args", &prompt("one"), &prompt("two")).as_deref(),
            Some("args.q: '…d so on. Ünd so on. one' was recorded, '…d so on. Ünd so on. two' was given")
        );
    }

    proptest! {
        #[test]
        fn the_form_is_json_and_its_own_form(text in "\\PC{0,30}", number in any::<f64>(), whole in any::<i64>()) {
            let value = json!({"t": text, "n": number, "w": [whole, {text.clone(): whole}]});
            let once = canonical(&value);
            prop_assert_eq!(canonical(&serde_json::from_str(&value.to_string()).unwrap()), once.clone());
            prop_assert_eq!(of(&once), once);
        }

        #[test]
        fn equal_forms_have_no_difference(text in "\\PC{0,20}", other in "\\PC{0,20}") {
            let (one, two) = (json!({"a": [text]}), json!({"a": [other]}));
            let (longer, long) = (json!({"a": ["é".repeat(70) + &text]}), json!({"a": ["é".repeat(70) + &other]}));
            let _ = first_difference("args", &longer, &long);
            prop_assert_eq!(first_difference("args", &one, &two).is_none(), canonical(&one) == canonical(&two));
        }
    }
}
