//! Where two JSON values differ, in words.

use super::canonical;
use crate::invisible::shortened;
use crate::{Message, message};
use serde_json::Value;

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
        fn equal_forms_have_no_difference(text in "\\PC{0,20}", other in "\\PC{0,20}") {
            let (one, two) = (json!({"a": [text]}), json!({"a": [other]}));
            let (longer, long) = (json!({"a": ["é".repeat(70) + &text]}), json!({"a": ["é".repeat(70) + &other]}));
            let _ = first_difference("args", &longer, &long);
            prop_assert_eq!(first_difference("args", &one, &two).is_none(), canonical(&one) == canonical(&two));
        }
    }
}
