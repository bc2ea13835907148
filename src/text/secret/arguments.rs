//! Takes the values of a call's arguments out of a text about the call. Errors quote them, and logs, events and spans must
//! not show them.

use super::in_text::secrets_in;
use super::names::{LABELS, is_secret_flag, is_secret_name};
use serde_json::Value;

/// Values that are looked for; a call with more of them has no text that quotes them all.
const MAX_VALUES: usize = 2_000;
/// Only the start of a long value is compared.
const MAX_BYTES: usize = 4_096;
/// A value of at least this many characters is found wherever it stands and however much of its end was cut off.
const SURE_CHARS: usize = 8;
/// A shorter value is found as a word of its own. One that is shorter still is in every text, and hidden only if it is a
/// secret.
const LEAST_CHARS: usize = 3;
/// A string that holds JSON is read, because the tool gets what is in it.
const MAX_JSON: usize = 100_000;
const MAX_DEPTH: usize = 64;

/// The values of one call's arguments.
#[derive(Debug)]
pub struct ArgumentValues {
    /// All values are hidden, and not only those whose names say that they are secret.
    hides_all: bool,
    values: Vec<String>,
}

impl ArgumentValues {
    pub fn new(hides_all: bool) -> Self {
        ArgumentValues { hides_all, values: Vec::new() }
    }

    /// Whether the value of this name is hidden, if its place is not hidden already.
    pub fn hides(&self, name: &str) -> bool {
        self.hides_all || is_secret_name(name)
    }

    /// True when no more values are taken.
    pub fn is_full(&self) -> bool {
        self.values.len() >= MAX_VALUES
    }

    /// Takes a value. `is_hidden`: it, or something around it, has a name that hides it.
    pub fn add(&mut self, value: &str, is_hidden: bool) {
        let json = value.len() <= MAX_JSON && value.trim_start().starts_with(['{', '[']);
        if json && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(value) {
            self.add_json(&inner, is_hidden, 0);
        }
        match is_hidden {
            true => self.add_text(value),
            false => self.add_secrets_in(value),
        }
    }

    fn add_secrets_in(&mut self, value: &str) {
        for secret in secrets_in(&value[..value.floor_char_boundary(MAX_JSON)]) {
            self.add_text(secret);
        }
    }

    fn add_text(&mut self, value: &str) {
        let value = &value[..value.floor_char_boundary(MAX_BYTES)];
        self.add_part(value);
        // A quoted value has escapes where these stand.
        let breaks = |c: char| c.is_control() || matches!(c, '\'' | '"' | '\\');
        for part in value.split(breaks).filter(|part| part.len() < value.len()) {
            if part.chars().nth(SURE_CHARS - 1).is_some() {
                self.add_part(part);
            }
        }
    }

    fn add_part(&mut self, value: &str) {
        let value = value.trim();
        let least = if self.hides_all { LEAST_CHARS } else { 1 };
        if !self.is_full() && value.chars().nth(least - 1).is_some() {
            self.values.push(value.to_owned());
        }
    }

    fn add_json(&mut self, value: &Value, is_hidden: bool, depth: usize) {
        if depth > MAX_DEPTH || self.is_full() {
            return;
        }
        match value {
            Value::String(text) if is_hidden => self.add_text(text),
            Value::String(text) => self.add_secrets_in(text),
            Value::Number(number) if is_hidden => self.add_part(&number.to_string()),
            Value::Array(items) => {
                let mut after_flag = false;
                for item in items {
                    self.add_json(item, is_hidden || after_flag, depth + 1);
                    after_flag = item.as_str().is_some_and(is_secret_flag);
                }
            }
            Value::Object(map) => {
                let mut labels = LABELS.into_iter().filter_map(|label| map.get(label)?.as_str());
                let labelled = labels.any(|label| self.hides(label));
                for (name, item) in map {
                    let is_value = labelled && !LABELS.contains(&name.as_str());
                    self.add_json(item, is_hidden || is_value || self.hides(name), depth + 1);
                }
            }
            _ => {}
        }
    }

    /// The text with `***` for each value.
    pub fn hide(mut self, text: &str) -> String {
        // The longest first: of a value that contains another one, no rest stays.
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let mut text = text.to_owned();
        for value in &self.values {
            text = without(text, value);
        }
        text
    }
}

fn without(text: String, value: &str) -> String {
    let sure = value.char_indices().nth(SURE_CHARS);
    let head = sure.map_or(value, |(end, _)| &value[..end]);
    let is_sure = value.chars().nth(SURE_CHARS - 1).is_some();
    if !text.contains(head) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(head) {
        let found = &rest[at..];
        let same = found.chars().zip(value.chars()).take_while(|(a, b)| a == b);
        let length: usize = same.map(|(c, _)| c.len_utf8()).sum();
        let before = rest[..at].chars().next_back().or_else(|| out.chars().next_back());
        let neighbours = [before, found[length..].chars().next()];
        let is_word = !neighbours.into_iter().flatten().any(char::is_alphanumeric);
        out.push_str(&rest[..at]);
        match is_sure || is_word {
            true => out.push_str("***"),
            false => out.push_str(&found[..length]),
        }
        rest = &found[length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn hidden(arguments: &Value, hides_all: bool, text: &str) -> String {
        let mut values = ArgumentValues::new(hides_all);
        values.add_json(arguments, hides_all, 0);
        values.hide(text)
    }

    #[test]
    fn values_are_hidden_and_the_rest_stays() {
        let arguments =
            json!({"user": "ada", "id": 4711, "n": 3, "deep": [{"note": "a longer text of the user"}]});
        let text = "no user 'ada' (4711, 3 tries) in Canada: \"a longer text of\u{2026}\"";
        assert_eq!(hidden(&arguments, true, text), "no user '***' (***, 3 tries) in Canada: \"***\u{2026}\"");
        assert_eq!(hidden(&json!({}), true, text), text);
    }

    #[test]
    fn only_secrets_are_hidden_when_the_others_may_be_shown() {
        let arguments = json!({"user": "ada", "login": {"password": "hunter2"}, "session": ["abc-1"]});
        assert_eq!(hidden(&arguments, false, "ada hunter2 abc-1"), "ada *** ***");
    }

    #[test]
    fn every_label_of_an_entry_counts() {
        let arguments = json!([{"name": "header", "key": "Authorization", "value": "abc-12345"}]);
        assert_eq!(hidden(&arguments, false, "no abc-12345"), "no ***");
    }

    #[test]
    fn json_in_a_string_is_read() {
        let mut values = ArgumentValues::new(false);
        values.add(r#"{"user": "ada", "token": "t-123"}"#, false);
        assert_eq!(values.hide("ada t-123"), "ada ***");
    }

    #[test]
    fn escapes_do_not_uncover_a_value() {
        let mut values = ArgumentValues::new(true);
        values.add("first line\nsecond line's end", true);
        assert_eq!(
            values.hide(r"ValueError: 'first line\nsecond line\'s end'"),
            r"ValueError: '***\n***\'s end'"
        );
    }

    proptest! {
        #[test]
        fn a_value_of_some_length_is_never_left(value in "[a-z]{8,30}", before in "\\PC{0,20}", after in "\\PC{0,20}") {
            let text = format!("{before}{value}{after}");
            let text = hidden(&json!({"x": value.clone()}), true, &text);
            prop_assert!(!text.contains(&value), "{}", text);
        }
    }
}
