//! One message of a chat, as the API has it: a JSON object with a `role`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::config::config_error;
use toolhub_types::error::HubError;

/// A chat message. The usual ones have constructors; any other (tool calls, tool results, images)
/// comes from its JSON object and is sent as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ChatMessage(Map<String, Value>);

impl ChatMessage {
    pub fn system(text: impl Into<String>) -> Self {
        Self::text("system", text)
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::text("user", text)
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text("assistant", text)
    }

    fn text(role: &str, text: impl Into<String>) -> Self {
        let mut fields = Map::new();
        fields.insert("role".into(), role.into());
        fields.insert("content".into(), Value::String(text.into()));
        Self(fields)
    }
}

impl TryFrom<Value> for ChatMessage {
    type Error = HubError;

    fn try_from(value: Value) -> Result<Self, HubError> {
        match value {
            Value::Object(fields) if fields.get("role").is_some_and(Value::is_string) => Ok(Self(fields)),
            _ => Err(config_error(
                "A chat message must be an object with a text `role`, such as {\"role\": \"user\", \"content\": \"…\"}.",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_its_json_object() {
        let value = json!({"role": "tool", "tool_call_id": "c1", "content": "4"});
        let message = ChatMessage::try_from(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), value);
        assert_eq!(
            serde_json::to_value(ChatMessage::user("hi")).unwrap(),
            json!({"role": "user", "content": "hi"})
        );
    }

    #[test]
    fn a_message_without_role_is_refused() {
        for value in [json!({"content": "x"}), json!("x"), json!({"role": 1})] {
            assert!(ChatMessage::try_from(value).is_err());
        }
    }
}
