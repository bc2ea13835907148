//! Takes secrets out of JSON that is written down: by the name of a member, by their form, and by their place in a text.
//!
//! A placeholder says what kind of secret it stands for and nothing of its value. So the same call with another key, as on
//! another machine, is the same after scrubbing.

use super::in_text::secrets_in;
use super::kinds::known_secrets;
use super::names::is_secret_name;
use serde_json::Value;
use std::borrow::Cow;

/// A member that is called `key` is as often the key of a record. Then a value that is shorter, or has blanks, is kept.
const SHORTEST_BARE_KEY: usize = 16;

/// The value with placeholders for secrets. A second run changes nothing.
pub fn scrubbed(mut value: Value) -> Value {
    scrub(&mut value);
    value
}

fn scrub(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = scrubbed_text(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(scrub),
        Value::Object(map) => {
            for (name, member) in map {
                match member {
                    Value::String(text) if is_named_secret(name, text) => *text = placeholder("named"),
                    other => scrub(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with placeholders for secrets.
pub fn scrubbed_text(text: &str) -> Cow<'_, str> {
    let known = known_secrets(text);
    let mut clean = Cow::Borrowed(text);
    if !known.is_empty() {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, kind) in known {
            out.push_str(&text[at..range.start]);
            out.push_str(&placeholder(kind));
            at = range.end;
        }
        out.push_str(&text[at..]);
        clean = Cow::Owned(out);
    }
    let has_bearer = || clean.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"bearer"));
    if !clean.contains(['=', ':']) && !has_bearer() {
        return clean;
    }
    let mut placed: Vec<String> = secrets_in(&clean)
        .into_iter()
        .map(value_of)
        .filter(|secret| is_one_word(secret))
        .map(str::to_owned)
        .collect();
    placed.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in placed {
        clean = Cow::Owned(replaced_in_place(&clean, &secret));
    }
    clean
}

/// Only where a secret can stand: after a sign or a blank. A short password may be part of other words.
fn replaced_in_place(text: &str, secret: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, found) in text.match_indices(secret) {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        let is_apart = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
        if is_apart(before) && is_apart(after) {
            out.push_str(&text[at..start]);
            out.push_str(&placeholder("named"));
            at = start + found.len();
        }
    }
    out.push_str(&text[at..]);
    out
}

/// A header's value without its scheme.
fn value_of(secret: &str) -> &str {
    let secret = secret.trim();
    match secret.split_once(' ') {
        Some((scheme, value))
            if ["bearer", "basic", "token", "digest", "apikey"].contains(&&*scheme.to_ascii_lowercase()) =>
        {
            value.trim()
        }
        _ => secret,
    }
}

/// A sentence after a word such as `Token:` is no secret.
fn is_one_word(secret: &str) -> bool {
    !secret.is_empty()
        && !secret.contains(char::is_whitespace)
        && !secret.ends_with("-secret]")
        && !matches!(secret, "{" | "[" | "(" | "null" | "true" | "false" | "{}" | "[]" | "," | "}" | "]")
}

fn is_named_secret(name: &str, text: &str) -> bool {
    if text.is_empty() || !is_secret_name(name) {
        return false;
    }
    let is_bare_key = name.eq_ignore_ascii_case("key") || name.eq_ignore_ascii_case("keys");
    !is_bare_key || text.len() >= SHORTEST_BARE_KEY && !text.contains(char::is_whitespace)
}

fn placeholder(kind: &str) -> String {
    // Without signs and blanks, so that it is not taken for a name and a value.
    format!("[{kind}-secret]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn secrets_go_by_name_form_and_place() {
        let clean = scrubbed(json!({
            "password": "hunter2", "key": "a", "headers": {"Authorization": "Bearer abc"},
            "url": "https://ada:hunter2@host/x?token=t1&b=2", "text": "use ghp_0123456789abcdefghijABCDEFGHIJ012345 now",
        }));
        assert_eq!(clean["password"], "[named-secret]");
        assert_eq!(clean["key"], "a");
        assert_eq!(clean["headers"]["Authorization"], "[named-secret]");
        assert_eq!(clean["url"], "https://ada:[named-secret]@host/x?token=[named-secret]&b=2");
        assert_eq!(clean["text"], "use [github-secret] now");
    }

    #[test]
    fn other_text_stays() {
        for text in ["Key: the answer is 5", "at 12:30", "", "a=b", "Token: {\"a\": 1}"] {
            assert_eq!(scrubbed_text(text), text);
        }
    }

    proptest! {
        #[test]
        fn a_second_run_changes_nothing(text in "\\PC{0,80}|(token|password|key)[=:] ?[a-z0-9]{0,20}[ ,&]?.{0,20}") {
            let once = scrubbed_text(&text).into_owned();
            prop_assert_eq!(scrubbed_text(&once).into_owned(), once);
        }
    }
}
