//! The words for what was expected and what was given.
//!
//! Models read them, so they use JSON's names for types. They also end up in logs, so a value is shown only in part, with
//! control characters escaped, and not at all when its name says that it is a secret.

use super::convert::is_integer;
use super::references;
use jsonschema::paths::{Location, LocationSegment};
use serde_json::{Map, Value};
use toolhub_text::invisible::is_invisible;
use toolhub_text::message;
use toolhub_text::message::{Join, Message};

const LONGEST_EXPECTED: usize = 200;
const LONGEST_NAME: usize = 60;
/// References may form a cycle, and multiply.
const SCHEMAS: usize = 200;

/// `rows[2].age`. Keys that are not plain words are quoted.
pub fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location.iter() {
        let step = match segment {
            LocationSegment::Index(index) => format!("[{index}]"),
            LocationSegment::Property(name) if is_word(&name) && path.is_empty() => name.to_string(),
            LocationSegment::Property(name) if is_word(&name) => format!(".{name}"),
            LocationSegment::Property(name) if path.is_empty() => cut(&quoted(&name), LONGEST_NAME),
            LocationSegment::Property(name) => format!("[{}]", cut(&quoted(&name), LONGEST_NAME)),
        };
        path.push_str(&step);
    }
    path
}

/// The path of a key of the object at this place.
pub fn path_of(location: &Location, name: &str) -> String {
    path(&location.join(name))
}

/// The text with control characters escaped.
pub fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars().take(LONGEST_EXPECTED) {
        push_visible(&mut shown, letter);
    }
    shown
}

fn push_visible(shown: &mut String, letter: char) {
    match letter {
        '\u{2028}' | '\u{2029}' => shown.extend(letter.escape_default()),
        _ if is_invisible(letter) => shown.extend(letter.escape_default()),
        _ => shown.push(letter),
    }
}

fn is_word(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
        && name.chars().count() <= LONGEST_NAME
}

/// What a schema expects, in a few words; empty when it expects nothing in particular.
pub fn expected(root: &Value, schema: &Value) -> Option<Message> {
    gathered(root, schema, one)
}

/// The formats that a schema names; empty when it names none.
pub fn expected_format(root: &Value, schema: &Value) -> Option<Message> {
    gathered(root, schema, |map| map.get("format")?.as_str().and_then(by_format))
}

/// The words of a schema, or of the branches of its unions.
fn gathered(
    root: &Value,
    schema: &Value,
    words: fn(&Map<String, Value>) -> Option<Message>,
) -> Option<Message> {
    let mut found: Vec<Message> = Vec::new();
    let (mut todo, mut seen) = (vec![schema], 0);
    while let Some(schema) = todo.pop() {
        seen += 1;
        let Some(map) = schema.as_object().filter(|_| seen <= SCHEMAS) else { continue };
        if let Some(words) = words(map) {
            found.push(words);
            continue;
        }
        let branches = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| map.get(key)?.as_array());
        let next: Vec<&Value> =
            references::target(root, map).into_iter().chain(branches.flatten().take(SCHEMAS)).collect();
        todo.extend(next.into_iter().rev());
    }
    (!found.is_empty()).then(|| alternatives(found, LONGEST_EXPECTED))
}

fn one(schema: &Map<String, Value>) -> Option<Message> {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return Some(options_in_words(options));
    }
    if let Some(constant) = schema.get("const") {
        return Some(literal(constant).into());
    }
    if let Some(words) = schema.get("format").and_then(Value::as_str).and_then(by_format) {
        return Some(words);
    }
    match schema.get("type")? {
        Value::String(name) => by_type(name),
        Value::Array(names) => {
            Some(types(names.iter().filter_map(Value::as_str))).filter(|words| !words.is_empty())
        }
        _ => None,
    }
}

pub fn options_in_words(options: &[Value]) -> Message {
    match options {
        [] => message!("nothing"),
        several => {
            // More of them are certainly not shown.
            let words: Vec<String> = several.iter().take(LONGEST_EXPECTED).map(literal).collect();
            message!("one of {}", cut(&words.join(", "), LONGEST_EXPECTED - "one of ".len()))
        }
    }
}

pub fn types<'a>(names: impl Iterator<Item = &'a str>) -> Message {
    alternatives(names.filter_map(by_type), usize::MAX)
}

fn by_type(name: &str) -> Option<Message> {
    Some(match name {
        "integer" => message!("an integer"),
        "number" => message!("a number"),
        "string" => message!("a string"),
        "boolean" => message!("true or false"),
        "array" => message!("an array"),
        "object" => message!("an object"),
        "null" => "null".into(),
        _ => return None,
    })
}

pub fn by_format(name: &str) -> Option<Message> {
    Some(match name {
        "date-time" => message!("a date and time such as '{}'", "2025-01-31T12:00:00Z"),
        "date" => message!("a date such as '{}'", "2025-01-31"),
        "time" => message!("a time such as '{}'", "12:00:00"),
        "duration" => message!("a duration such as '{}'", "PT1H30M"),
        "uuid" => message!("a UUID"),
        "path" => message!("a path"),
        "uri" => message!("a URL"),
        _ => return None,
    })
}

/// A value from the schema: short, and as JSON except for the quotes.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => cut(&quoted(text), LONGEST_NAME),
        Value::Array(_) | Value::Object(_) | Value::Number(_) => cut(&value.to_string(), LONGEST_NAME),
        other => other.to_string(),
    }
}

/// A given value with its JSON type, without the content of anything large or secret.
pub fn given(value: &Value, hidden: bool) -> Message {
    match value {
        Value::String(_) if hidden => message!("a string (hidden)"),
        Value::Number(_) if hidden => message!("a number (hidden)"),
        Value::String(text) => {
            let start: String = text.chars().take(40).collect();
            let shown = quoted(&start);
            if start.len() < text.len() || shown.chars().count() > 45 {
                message!("{} (string of {} characters)", cut(&shown, 30), text.chars().count())
            } else {
                message!("{} (string)", shown)
            }
        }
        Value::Null => "null".into(),
        Value::Bool(flag) => message!("{} (boolean)", flag),
        Value::Number(number) => match (number.as_str(), is_integer(number)) {
            (digits, true) if digits.len() > 40 => message!("an integer of {} digits", digits.len()),
            (digits, true) => message!("{} (integer)", digits),
            (text, false) => message!("{} (number)", cut(text, 40)),
        },
        Value::Array(items) => message!("an array of {}", items_in_words(items.len() as u64)),
        Value::Object(map) => message!("an object with {}", keys_in_words(map.len() as u64)),
    }
}

pub fn items_in_words(count: u64) -> Message {
    if count == 1 { message!("{} item", 1) } else { message!("{} items", count) }
}

pub fn keys_in_words(count: u64) -> Message {
    if count == 1 { message!("{} key", 1) } else { message!("{} keys", count) }
}

/// What is wrong at a place.
pub fn at(path: String, sentence: Message) -> Message {
    if path.is_empty() { sentence } else { message!("{}: {}", path, sentence) }
}

/// Words of which each may be right, each once, cut off if they are too long.
pub fn alternatives(words: impl IntoIterator<Item = Message>, limit: usize) -> Message {
    let mut different: Vec<Message> = Vec::new();
    for words in words {
        if !different.contains(&words) {
            different.push(words);
        }
    }
    let all = Message::list(different, Join::Or);
    if all.chars().nth(limit).is_none() { all } else { cut(&all, limit).into() }
}

/// In quotes, on one line.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push(quote);
    for letter in text.chars().take(LONGEST_EXPECTED) {
        match letter {
            '\\' => shown.push_str("\\\\"),
            '\'' if quote == '\'' => shown.push_str("\\'"),
            _ => push_visible(&mut shown, letter),
        }
    }
    shown.push(quote);
    shown
}

/// The text, cut off if it is too long.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}
