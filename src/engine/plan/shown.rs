//! A question about a call as people read it: long values are cut in the middle, each with its length.

use serde_json::Value;
use toolhub_text::invisible::visible_json;

/// Longer texts are cut, and so are lists and objects with more members.
const LONGEST_TEXT: usize = 200;
const MOST_MEMBERS: usize = 20;
/// How many brackets are tried that begin no JSON.
const TRIES: usize = 100;

/// The JSON in a text with its long values cut. A mark stands outside of quotation marks, where no value can imitate it.
pub fn in_short(shown: &str) -> String {
    let (mut short, mut rest, mut tries) = (String::new(), shown, TRIES);
    while let Some(at) = rest.find(['{', '[']).filter(|_| tries > 0) {
        let (before, json) = rest.split_at(at);
        short.push_str(before);
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                write(&value, &mut short);
                rest = &json[values.byte_offset()..];
            }
            _ => {
                short.push_str(&json[..1]);
                (rest, tries) = (&json[1..], tries - 1);
            }
        }
    }
    short.push_str(rest);
    short
}

fn write(value: &Value, short: &mut String) {
    match value {
        Value::String(text) => write_text(text, short),
        Value::Array(items) => {
            short.push('[');
            write_members(items.len(), "items", short, items.iter(), write);
            short.push(']');
        }
        Value::Object(members) => {
            short.push('{');
            write_members(members.len(), "members", short, members.iter(), |(key, value), short| {
                write_text(key, short);
                short.push(':');
                write(value, short);
            });
            short.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => short.push_str(&value.to_string()),
    }
}

fn write_members<T>(
    count: usize,
    what: &str,
    short: &mut String,
    members: impl Iterator<Item = T>,
    one: impl Fn(T, &mut String),
) {
    let half = if count > MOST_MEMBERS { MOST_MEMBERS / 2 } else { count };
    for (at, member) in members.enumerate() {
        if at == half && half < count {
            short.push_str(&format!(",…({count} {what})…"));
        }
        if at < half || at >= count - half {
            if at > 0 {
                short.push(',');
            }
            one(member, short);
        }
    }
}

fn write_text(text: &str, short: &mut String) {
    let quoted = |part: &str| visible_json(&Value::from(part).to_string());
    let length = text.chars().count();
    if length <= LONGEST_TEXT {
        return short.push_str(&quoted(text));
    }
    let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (start, end) = (&text[..place(LONGEST_TEXT / 2)], &text[place(length - LONGEST_TEXT / 2)..]);
    short.push_str(&format!("{}…({length} characters)…{}", quoted(start), quoted(end)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_stay_as_they_are() {
        let text = r#"pay on bank {"to":"eve","all":[1,2.50,null]}, meta {"tenant":1}, run by bank: {x"#;
        assert_eq!(in_short(text), text);
    }

    #[test]
    fn long_values_are_cut_in_the_middle() {
        let (long, list) = (format!("{}{}", "a".repeat(500), "z".repeat(500)), vec![0; 1_000]);
        let text = format!(
            "pay {}",
            serde_json::json!({"first": 1, "text": long, "list": list, "amount": 5, "last": "\"…(9 items)…\""})
        );
        let (a, z, zeros) = ("a".repeat(100), "z".repeat(100), ["0"; 10].join(","));
        assert_eq!(
            in_short(&text),
            format!(
                r#"pay {{"first":1,"text":"{a}"…(1000 characters)…"{z}","list":[{zeros},…(1000 items)…,{zeros}],"amount":5,"last":"\"…(9 items)…\""}}"#
            )
        );
    }
}
