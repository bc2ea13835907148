//! JSON that is not a tool call, such as a plan or a table of arguments, as models write it.

use super::lenient::{self, MissingClosers};
use super::notation::Notation;
use serde_json::Value;

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
    let read = lenient::read(text, Notation::Json, MissingClosers::ALL)?;
    Ok(JsonDocument { value: read.value, repairs: read.repairs.names(), cut: read.cut.map(|cut| cut.why) })
}

#[cfg(test)]
mod tests {
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

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "[\\[{\\]}\",:a-z0-9 \\\\']{0,60}") {
            let _ = read_json(&text);
        }
    }
}
