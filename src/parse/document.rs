//! JSON that is not a tool call, such as a plan or a table of arguments, as models write it.

use super::dialects::DOCUMENT;
use super::lenient::{self, MissingClosers, Notation};
use super::openings::Openings;
use super::options::ParseOptions;
use super::reasoning::ReasoningMode;
use super::stream::parse;
use serde_json::Value;
use toolhub_text::message::Message;

/// A JSON value in a model's text.
#[derive(Debug)]
pub struct JsonDocument {
    pub value: Value,
    /// The repairs that were needed to read it.
    pub repairs: Vec<&'static str>,
    /// Why the rest of the outermost list cannot be read, if it was cut off.
    pub cut: Option<String>,
}

/// Reads the value at the start of `text`. Closing brackets may be missing at its end; what follows the value is ignored.
pub fn read_json(text: &str) -> Result<JsonDocument, String> {
    let read = lenient::read(text, Notation::Json, MissingClosers::ALL).map_err(Message::into_owned)?;
    Ok(JsonDocument {
        value: read.value,
        repairs: read.repairs.names(),
        cut: read.cut.map(|cut| cut.why.into_owned()),
    })
}

/// Reads all objects and lists of a text, in their order. What the model only thought is left out, by the rules for calls.
pub fn read_documents(text: &str, reasoning: ReasoningMode) -> Vec<JsonDocument> {
    let openings = Openings::of(Some(DOCUMENT));
    let parsed = parse(text, &ParseOptions { openings, reasoning, ..ParseOptions::default() });
    let documents = parsed.calls.into_iter().filter(|call| call.name == DOCUMENT);
    let read = documents.map(|document| {
        let mut fields = document.arguments.into_map();
        let cut = fields.remove("cut").and_then(|why| why.as_str().map(str::to_owned));
        JsonDocument {
            value: fields.remove("value").unwrap_or_default(),
            repairs: document.repairs.names(),
            cut,
        }
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::super::reasoning::TAGS;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_plan_is_read_with_its_mistakes() {
        let read = read_json("[{'id': 1,}, {'id': 2}]\n``` That is all.").unwrap();
        assert_eq!((read.value, read.cut), (json!([{"id": 1}, {"id": 2}]), None));
        assert_eq!(read.repairs, ["single quotes", "a trailing comma"]);
    }

    #[test]
    fn a_list_that_is_cut_off_keeps_what_is_complete() {
        let read = read_json(r#"[{"id": 1}, {"id": 2, "description": "Look"#).unwrap();
        assert_eq!(read.value, json!([{"id": 1}]));
        assert!(read.cut.is_some());
        assert!(read_json(r#"{"id": 2, "description": "Look"#).is_err());
    }

    fn values(text: &str) -> Vec<Value> {
        read_documents(text, ReasoningMode::Auto).into_iter().map(|read| read.value).collect()
    }

    #[test]
    fn what_was_only_thought_is_no_document() {
        for tag in TAGS {
            let bracket = if tag.is_element { ">" } else { "" };
            for (open, close) in tag.opens.iter().zip(tag.closes.iter().cycle()) {
                let (open, close) = (format!("{open}{bracket}"), format!("{close}{bracket}"));
                for opened in [open.as_str(), ""].into_iter().take(if tag.is_pair { 1 } else { 2 }) {
                    let text = format!("{opened}One could [{{'a': 1}}].{close}\n{{\"b\": 2}} and [3]");
                    assert_eq!(values(&text), [json!({"b": 2}), json!([3])], "{text}");
                }
                let read = values(&format!("{open}\n[1] and so on"));
                assert_eq!(read.is_empty(), !tag.is_soft, "{open}");
            }
        }
        let harmony =
            "<|channel|>analysis<|message|>[1]<|end|><|start|>assistant<|channel|>final<|message|>[2]";
        assert_eq!(values(harmony), [json!([2])]);
        let unclosed = r#"{"steps": [{"id": 1}, no.</think>{"steps": [{"id": 2}]}"#;
        assert_eq!(values(unclosed), [json!({"steps": [{"id": 2}]})]);
    }

    #[test]
    fn a_tag_in_a_sound_value_belongs_to_it() {
        let value = json!({"text": "Write </think> at the end."});
        assert_eq!(values(&value.to_string()), [value]);
    }

    #[test]
    fn a_document_may_stand_in_quotes() {
        for text in ["The plan is `[1]`, as you wished.", "The plan is \"[1]\" now.", "> [1]\n", "`[1]`"] {
            assert_eq!(values(text), [json!([1])], "{text}");
        }
    }

    #[test]
    fn what_follows_a_list_that_is_cut_off_is_read_too() {
        let read = read_documents(r#"[1, 2 and then {"steps": [3]}"#, ReasoningMode::Auto);
        assert_eq!(read.len(), 2);
        assert_eq!((&read[0].value, read[0].cut.is_some()), (&json!([1, 2]), true));
        assert_eq!(read[1].value, json!({"steps": [3]}));
    }

    proptest! {
        #[test]
        fn any_text_has_documents(text in "([\\[{\\]}\",:a-z0-9 \\\\'\n]|<think>|</think>|<\\|end\\|>){0,60}") {
            let _ = read_documents(&text, ReasoningMode::Auto);
        }

        #[test]
        fn nothing_before_a_closing_tag_counts(before in "[\\[{\\]}\",:a-z0-9 ]{0,40}") {
            let text = format!("{before}.\n</think>\n{{\"b\": 2}}");
            let read = values(&text);
            // Unless the tag is in a string of a value that continues after it.
            prop_assert!(read == [json!({"b": 2})] || before.contains('"'), "{read:?}");
        }

        #[test]
        fn any_text_can_be_read(text in "[\\[{\\]}\",:a-z0-9 \\\\']{0,60}") {
            let _ = read_json(&text);
        }
    }
}
