//! JSON whose strings have quotes inside, without a backslash: `{"text": "He said "no" to me"}`.
//!
//! It is read only if there is one way to do so: the quotes inside a string stand in pairs, the value ends right before its end
//! tag, and no string looks as if it had swallowed the next key.

use serde_json::Value;

use crate::lenient::{self, LenientValue};
use crate::reader::ReadContext;
use crate::repair::SyntaxRepair;

/// The value at `at` and the position of the end tag behind it. `next` begins another call: then the end tag is missing.
pub async fn value(
    cx: &ReadContext,
    at: usize,
    ends: &[&str],
    next: &[&str],
) -> Option<(LenientValue, usize)> {
    let stops = [ends, next].concat();
    let (end, _) = cx.find(at, &stops).await.filter(|(_, index)| *index < ends.len())?;
    let read = cx.with(at, end, lenient::read_with_inner_quotes).ok()?;
    let is_certain = read.whole && read.repairs.has(SyntaxRepair::InnerQuotes) && !is_ambiguous(&read.value);
    is_certain.then_some((read, end))
}

/// True if a string in it may be several members of an object.
fn is_ambiguous(value: &Value) -> bool {
    match value {
        Value::String(text) => has_key(text),
        Value::Array(items) => items.iter().any(is_ambiguous),
        Value::Object(map) => map.iter().any(|(key, value)| has_key(key) || is_ambiguous(value)),
        _ => false,
    }
}

/// True if the text has the end of a string in it, and a comma and a key behind that.
fn has_key(text: &str) -> bool {
    let begins_key = |rest: &str| {
        let key = rest.trim_start().strip_prefix(',')?.trim_start().strip_prefix('"')?;
        Some(key.split_once('"')?.1.trim_start().starts_with(':'))
    };
    text.match_indices('"').any(|(at, _)| begins_key(&text[at + 1..]).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_one_way_to_read_it_counts() {
        let read = |text: &str| {
            let read = lenient::read_with_inner_quotes(text).ok()?;
            (read.whole && !is_ambiguous(&read.value)).then_some(read.value)
        };
        for (text, value) in [
            (r#"{"a": "He said "no" to me"}"#, json!({"a": r#"He said "no" to me"#})),
            (r#"{"a": ""no"", "b": 1}"#, json!({"a": r#""no""#, "b": 1})),
            (r#"{"a": "say "x", "y" now", "b": ["c"]}"#, json!({"a": r#"say "x", "y" now"#, "b": ["c"]})),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in [
            r#"{"a": "x"y", "b": "z"w"}"#,
            r#"{"a": "x"y"}"#,
            r#"{"a": "x"y", "b": 1}"#,
            r#"{"a": "He said "no", "b": "c"}"#,
            r#"{"a": "cut "here"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
