//! What functions return, in the form of the protocol: contents of resources, messages of prompts, values of completions.

use serde_json::{Map, Value, json};
use toolhub_context::shape::content::is_block;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, clip};

/// The most values that an answer to `completion/complete` may have.
const MOST_VALUES: usize = 100;

/// The answer to `resources/read`. A text is the content; `{"text": …}` and `{"blob": …}`, alone or in a list, are contents with
/// members of their own; an image or sound of a content block is its data; any other value is written as JSON.
pub fn contents(uri: &str, mime_type: Option<&str>, value: Value) -> Map<String, Value> {
    let contents = match value {
        Value::Object(mut result) if result.get("contents").is_some_and(Value::is_array) => {
            result.get_mut("contents").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default()
        }
        Value::Array(several) if !several.is_empty() && several.iter().all(is_content) => several,
        value => vec![value],
    };
    let contents = contents.into_iter().map(|one| content(uri, mime_type, one)).collect();
    Map::from_iter([("contents".to_owned(), contents)])
}

/// Whether a value is the content of a resource, and not data that is written as JSON.
fn is_content(value: &Value) -> bool {
    const MEMBERS: [&str; 7] = ["text", "blob", "uri", "mimeType", "_meta", "annotations", "type"];
    let Value::Object(members) = value else { return false };
    let texts = ["text", "blob"].iter().filter(|name| members.get(**name).is_some_and(Value::is_string));
    let is_own = texts.count() == 1 && members.keys().all(|key| MEMBERS.contains(&key.as_str()));
    is_own || media(value).is_some()
}

/// The data and type of an image or sound.
fn media(value: &Value) -> Option<(&Value, &Value)> {
    let is_media = matches!(value.get("type")?.as_str()?, "image" | "audio") && is_block(value);
    is_media.then_some((value.get("data")?, value.get("mimeType")?))
}

fn content(uri: &str, mime_type: Option<&str>, value: Value) -> Value {
    let mime = |usual: &str| json!(mime_type.unwrap_or(usual));
    if let Some((data, own)) = media(&value) {
        return json!({"uri": uri, "mimeType": own, "blob": data});
    }
    match value {
        Value::Object(members) if is_content(&Value::Object(members.clone())) => {
            let usual = if members.contains_key("blob") { "application/octet-stream" } else { "text/plain" };
            let mut content =
                Map::from_iter([("uri".to_owned(), json!(uri)), ("mimeType".to_owned(), mime(usual))]);
            content.extend(members.into_iter().filter(|(key, _)| key != "type"));
            Value::Object(content)
        }
        Value::String(text) => json!({"uri": uri, "mimeType": mime("text/plain"), "text": text}),
        value => json!({"uri": uri, "mimeType": mime("application/json"), "text": value.to_string()}),
    }
}

/// The answer to `prompts/get`. A text or a content block is a message of the user; `{"role": …, "content": …}` is a message; a
/// list has several of them.
pub fn messages(
    name: &str,
    description: Option<&Value>,
    value: Value,
) -> Result<Map<String, Value>, HubError> {
    let mut result = Map::new();
    let (mut description, mut value) = (description.cloned(), value);
    if let Value::Object(members) = &mut value
        && members.get("messages").is_some_and(Value::is_array)
    {
        description = members.remove("description").or(description);
        value = members.remove("messages").unwrap_or_default();
    }
    let messages = match value {
        Value::Array(several) => {
            several.into_iter().map(|one| message(name, one)).collect::<Result<_, _>>()?
        }
        one => vec![message(name, one)?],
    };
    result.extend(description.map(|text| ("description".to_owned(), text)));
    result.insert("messages".to_owned(), Value::Array(messages));
    Ok(result)
}

fn message(name: &str, value: Value) -> Result<Value, HubError> {
    let text = |text: String| json!({"type": "text", "text": text});
    let of_user = |content: Value| Ok(json!({"role": "user", "content": content}));
    let wrong = || {
        let text = message!(
            "Prompt '{}' must return texts, content blocks, or messages with the role 'user' or 'assistant'.",
            clip(name)
        );
        HubError::new(ErrorKind::ToolError, text)
    };
    match value {
        Value::String(given) => of_user(text(given)),
        block if is_block(&block) => of_user(block),
        Value::Object(mut members) => {
            let role = members.get("role").and_then(Value::as_str);
            if !matches!(role, Some("user" | "assistant")) {
                return Err(wrong());
            }
            match members.remove("content") {
                Some(Value::String(given)) => members.insert("content".to_owned(), text(given)),
                Some(block) if is_block(&block) => members.insert("content".to_owned(), block),
                _ => return Err(wrong()),
            };
            Ok(Value::Object(members))
        }
        _ => Err(wrong()),
    }
}

/// The answer to `completion/complete`.
pub fn completion(values: Vec<String>) -> Map<String, Value> {
    let total = values.len();
    let values: Vec<String> = values.into_iter().take(MOST_VALUES).collect();
    let completion = json!({"values": values, "total": total, "hasMore": total > values.len()});
    Map::from_iter([("completion".to_owned(), completion)])
}

/// The suggestions that a function returned: a list of texts, or nothing.
pub fn suggestions(name: &str, value: Value) -> Result<Vec<String>, HubError> {
    let texts: Option<Vec<String>> = serde_json::from_value(value).map_err(|_| {
        let text = message!("The completion of '{}' must return a list of texts.", clip(name));
        HubError::new(ErrorKind::ToolError, text)
    })?;
    Ok(texts.unwrap_or_default())
}

/// Those of the known values that begin as the user has, in upper or lower case.
pub fn beginning_with(values: &[String], begun: &str) -> Vec<String> {
    let begun = begun.to_lowercase();
    values.iter().filter(|value| value.to_lowercase().starts_with(&begun)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_contents() {
        let read = |mime, value| contents("x://y", mime, value)["contents"].clone();
        let one = |mime: &str, member: &str, value: &str| json!([{"uri": "x://y", "mimeType": mime, member: value}]);
        assert_eq!(read(None, json!("hello")), one("text/plain", "text", "hello"));
        assert_eq!(read(Some("text/markdown"), json!("# hi")), one("text/markdown", "text", "# hi"));
        assert_eq!(read(None, json!({"a": [1]})), one("application/json", "text", r#"{"a":[1]}"#));
        assert_eq!(read(None, json!(["a", "b"])), one("application/json", "text", r#"["a","b"]"#));
        assert_eq!(read(None, json!(null)), one("application/json", "text", "null"));
        assert_eq!(read(None, json!({"blob": "AAE="})), one("application/octet-stream", "blob", "AAE="));
        assert_eq!(read(Some("image/png"), json!({"blob": "AAE="})), one("image/png", "blob", "AAE="));
        // Data that only has a member of this name.
        assert_eq!(
            read(None, json!({"text": "x", "id": 1})),
            one("application/json", "text", r#"{"text":"x","id":1}"#)
        );
        let image = json!({"type": "image", "data": "AAE=", "mimeType": "image/gif"});
        assert_eq!(read(None, image), one("image/gif", "blob", "AAE="));
        let several = json!([{"text": "a", "uri": "x://a"}, {"blob": "AA==", "mimeType": "image/png"}]);
        let expected = json!([
            {"uri": "x://a", "mimeType": "text/plain", "text": "a"},
            {"uri": "x://y", "mimeType": "image/png", "blob": "AA=="},
        ]);
        assert_eq!(read(None, several.clone()), expected);
        assert_eq!(read(None, json!({"contents": several})), expected);
    }

    #[test]
    fn values_become_messages() {
        let text = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let image = json!({"type": "image", "data": "AAE=", "mimeType": "image/png"});
        let made = |value| messages("p", Some(&json!("About.")), value).map(|made| made["messages"].clone());
        assert_eq!(made(json!("hi")), Ok(json!([text("user", "hi")])));
        assert_eq!(
            made(json!(["hi", {"role": "assistant", "content": "yes"}, image])),
            Ok(json!([text("user", "hi"), text("assistant", "yes"), {"role": "user", "content": image}]))
        );
        let whole = messages("p", Some(&json!("About.")), json!({"messages": ["a"], "description": "Own."}));
        assert_eq!(whole.unwrap()["description"], json!("Own."));
        assert_eq!(
            messages("p", Some(&json!("About.")), json!("a")).unwrap()["description"],
            json!("About.")
        );
        for wrong in
            [json!(5), json!([["a"]]), json!({"role": "system", "content": "a"}), json!({"role": "user"})]
        {
            assert_eq!(made(wrong).unwrap_err().kind, ErrorKind::ToolError);
        }
    }

    #[test]
    fn suggestions_are_limited_and_counted() {
        let many: Vec<String> = (0..250).map(|number| number.to_string()).collect();
        let completion = completion(many)["completion"].clone();
        assert_eq!(completion["values"].as_array().unwrap().len(), MOST_VALUES);
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)));
        let known = ["Paris".to_owned(), "Oslo".to_owned()];
        assert_eq!(beginning_with(&known, "pa"), ["Paris"]);
        assert_eq!(suggestions("p", json!(null)), Ok(Vec::new()));
        assert!(suggestions("p", json!([1])).is_err());
    }
}
