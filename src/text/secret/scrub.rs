//! Takes secrets out of JSON that is written down: by the name of a member, by their form, and by their place in a text.
//!
//! A placeholder says what kind of secret it stands for and nothing of its value. So the same call with another key, as on
//! another machine, is the same after scrubbing.

use super::in_text::places_in;
use super::kinds::known_secrets;
use super::names::{LABELS, NameStrength, is_secret_flag, name_strength};
use super::value_rules::{is_inner_secret, is_named_secret, is_schema, is_secret_number, looks_random};
use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;

/// A secret is also replaced where the same text repeats it, if it is long enough to be no other word.
const SHORTEST_REPEATED: usize = 8;
/// What is longer is not written twice, and would take long to look for.
const LONGEST_REPEATED: usize = 500;
/// A longer text is not read as JSON.
const LONGEST_DATA: usize = 1 << 20;
/// So many secrets of one text are looked for again.
const MOST_REPEATED: usize = 200;

/// The value with placeholders for secrets. A second run changes nothing.
pub fn scrubbed(mut value: Value) -> Value {
    scrub(&mut value, None);
    value
}

/// `around`: it stands under the name of a secret.
fn scrub(value: &mut Value, around: Option<NameStrength>) {
    match value {
        Value::String(text) if around.is_some_and(|strength| is_inner_secret(strength, text)) => {
            *text = placeholder("named");
        }
        Value::String(text) => {
            if let Cow::Owned(clean) = scrubbed_text(text) {
                *text = clean;
            }
        }
        Value::Number(number)
            if around.is_some_and(|strength| is_secret_number(strength, &number.to_string())) =>
        {
            *value = Value::String(placeholder("named"));
        }
        Value::Array(items) => scrub_items(items, around),
        Value::Object(map) => {
            let type_name = map.get("type").and_then(Value::as_str);
            let describes = || is_schema(map.keys().map(String::as_str), type_name);
            let around = around.filter(|_| !describes());
            scrub_members(map, around);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn scrub_items(items: &mut [Value], around: Option<NameStrength>) {
    // A header as a pair: `["Authorization", "Bearer …"]`.
    if let [Value::String(name), Value::String(text)] = items
        && name_strength(name).is_some()
        && text.split_whitespace().last().is_some_and(looks_random)
    {
        *text = placeholder("named");
    }
    let mut after_flag = false;
    for item in items {
        let is_flag = item.as_str().is_some_and(is_secret_flag);
        scrub(item, if after_flag { Some(NameStrength::Strong) } else { around });
        after_flag = is_flag;
    }
}

fn scrub_members(map: &mut Map<String, Value>, around: Option<NameStrength>) {
    let labels = LABELS.iter().filter_map(|label| map.get(*label)?.as_str());
    let label = labels.filter_map(name_strength).max();
    for (name, member) in map.iter_mut() {
        // `{"name": "Authorization", "value": "…"}`
        let own = if name == "value" { label.or_else(|| name_strength(name)) } else { name_strength(name) };
        match (own, &mut *member) {
            (Some(own), Value::String(text)) if is_named_secret(own, name, text) => {
                *text = placeholder("named");
            }
            (_, Value::String(_)) => scrub(member, around),
            (own, member) => scrub(member, own.max(around)),
        }
    }
    scrub_names(map);
}

/// Names of members can hold secrets too. Two of one kind stay apart.
fn scrub_names(map: &mut Map<String, Value>) {
    if map.keys().all(|name| matches!(scrubbed_text(name), Cow::Borrowed(_))) {
        return;
    }
    let mut clean = Map::with_capacity(map.len());
    for (name, member) in std::mem::take(map) {
        let name = scrubbed_text(&name).into_owned();
        let mut fresh = name.clone();
        let mut count = 1;
        while clean.contains_key(&fresh) {
            count += 1;
            fresh = format!("{name} {count}");
        }
        clean.insert(fresh, member);
    }
    *map = clean;
}

/// The text with placeholders for secrets. A text that is JSON is treated as the data in it.
pub fn scrubbed_text(text: &str) -> Cow<'_, str> {
    let is_data = text.len() <= LONGEST_DATA && text.trim_start().starts_with(['{', '[']);
    if is_data && let Ok(data) = serde_json::from_str::<Value>(text) {
        let before = data.clone();
        let clean = scrubbed(data);
        return if clean == before { Cow::Borrowed(text) } else { Cow::Owned(clean.to_string()) };
    }
    let known = known_secrets(text);
    let mut clean = Cow::Borrowed(text);
    if !known.is_empty() {
        clean = Cow::Owned(replaced(text, known.into_iter().map(|(range, kind)| (range, placeholder(kind)))));
    }
    let places = places_in(&clean);
    if places.is_empty() {
        return clean;
    }
    let repeated: Vec<String> = places
        .iter()
        .map(|place| &clean[place.clone()])
        .filter(|secret| {
            (SHORTEST_REPEATED..=LONGEST_REPEATED).contains(&secret.len()) && looks_random(secret)
        })
        .take(MOST_REPEATED)
        .map(str::to_owned)
        .collect();
    let once = replaced(&clean, places.into_iter().map(|place| (place, placeholder("named"))));
    Cow::Owned(without_repeated(once, &repeated))
}

fn without_repeated(text: String, secrets: &[String]) -> String {
    let Ok(all) = AhoCorasick::new(secrets) else { return text };
    let apart = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
    let places = all.find_iter(&text).filter(|found| {
        apart(text[..found.start()].chars().next_back()) && apart(text[found.end()..].chars().next())
    });
    let places: Vec<_> = places.map(|found| (found.range(), placeholder("named"))).collect();
    if places.is_empty() { text } else { replaced(&text, places) }
}

/// The text with something else in these places, which are in order.
pub(super) fn replaced(
    text: &str,
    places: impl IntoIterator<Item = (Range<usize>, impl AsRef<str>)>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, stand_in) in places {
        out.push_str(&text[at..range.start]);
        out.push_str(stand_in.as_ref());
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
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
