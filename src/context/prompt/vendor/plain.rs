//! A schema without hidden characters, for the model of a vendor. A parameter gets its own name back in the arguments; a value
//! that is allowed with hidden characters is coerced when the arguments are checked.

use super::words::{parts_mut, rename_properties};
use crate::prompt::clean::plain;
use serde_json::Value;

/// Keywords with texts.
const TEXTS: [&str; 8] = ["title", "format", "pattern", "default", "examples", "enum", "const", "required"];

/// Takes hidden characters out of a tree. Returns whether names have to be changed back; fails when two become one.
pub fn clean(tree: &mut Value) -> Result<bool, String> {
    let Some(map) = tree.as_object_mut() else { return Ok(false) };
    let mut is_renamed = false;
    for part in parts_mut(map) {
        is_renamed |= clean(part)?;
    }
    for (_, value) in map.iter_mut().filter(|(keyword, _)| TEXTS.contains(&keyword.as_str())) {
        *value = all_plain(value.take());
    }
    Ok(is_renamed | rename_properties(map, |name, _| plain(name).into_owned())?)
}

/// The value without hidden characters in any of its texts.
fn all_plain(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(all_plain).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (plain(&key).into_owned(), all_plain(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_go() {
        let mut shown = json!({"type": "object", "properties": {"o": {"type": "object", "title": "T\u{202e}",
            "properties": {"pa\u{200b}th": {"default": "a\u{1b}[31mb", "examples": [{"x\u{200b}": "y\u{2066}"}],
            "pattern": "^a\u{200b}$", "enum": ["n\u{200b}o"]}}, "required": ["pa\u{200b}th"]}}});
        assert_eq!(clean(&mut shown), Ok(true));
        assert_eq!(
            shown["properties"]["o"],
            json!({"type": "object", "title": "T", "properties": {"path":
            {"default": "ab", "examples": [{"x": "y"}], "pattern": "^a$", "enum": ["no"]}}, "required": ["path"]})
        );
    }

    #[test]
    fn names_that_become_one_are_refused() {
        assert!(clean(&mut json!({"properties": {"a": {}, "a\u{200b}": {}}})).is_err());
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_hidden_character(title in ".{0,30}", name in ".{1,30}", default in ".{0,30}") {
            let mut shown = json!({"properties": {name: {"title": title, "default": [default]}}});
            if clean(&mut shown).is_ok() {
                let hidden = |c: char| c != '\n' && c != '\t' && toolhub_text::invisible::is_invisible(c);
                prop_assert!(!all_text(&shown).contains(hidden));
            }
        }
    }

    fn all_text(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(all_text).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| format!("{key}{}", all_text(value))).collect()
            }
            _ => String::new(),
        }
    }
}
