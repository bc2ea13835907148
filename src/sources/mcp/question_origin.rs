//! Questions of a server on their way to a person: each says who asks, and only a server with `trust: full` may ask for
//! credentials. To its caller a served hub is one server, and a caller that trusts the hub does not trust all that it reaches.

use crate::secret::is_secret_name;
use serde_json::{Value, json};

/// The member of a question's `_meta` that names the server.
const ORIGIN: &str = "toolhub/server";

/// The parameters of a question with its origin: in the text that a person reads, and for programs.
pub fn with_origin(server: &str, mut params: Value) -> Value {
    let Some(fields) = params.as_object_mut() else { return params };
    if let Some(Value::String(message)) = fields.get_mut("message") {
        *message = format!("[{server}] {message}");
    }
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    if !meta.is_object() {
        *meta = json!({});
    }
    meta[ORIGIN] = json!(server);
    params
}

/// The field of a form that looks like a credential.
pub fn credential_field(params: &Value) -> Option<&str> {
    let fields = params.get("requestedSchema")?.get("properties")?.as_object()?;
    fields
        .iter()
        .find(|(name, field)| takes_text(field) && is_credential(name, field))
        .map(|(name, _)| &**name)
}

/// A yes or a choice is no credential, whatever it is about.
fn takes_text(field: &Value) -> bool {
    let is_choice = ["enum", "oneOf", "anyOf", "const"].iter().any(|key| field.get(*key).is_some());
    !is_choice && !matches!(field.get("type").and_then(Value::as_str), Some("boolean" | "array"))
}

fn is_credential(name: &str, field: &Value) -> bool {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    is_secret_name(name) || text("title").is_some_and(is_secret_name) || text("format") == Some("password")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_who_asks() {
        let asked = json!({"message": "Enter it.", "_meta": {"toolhub/server": "bank", "x": 1}});
        let expected = json!({"message": "[free] Enter it.", "_meta": {"toolhub/server": "free", "x": 1}});
        assert_eq!(with_origin("free", asked), expected);
        assert_eq!(with_origin("free", json!({"_meta": 5})), json!({"_meta": {"toolhub/server": "free"}}));
        assert_eq!(with_origin("free", json!(null)), json!(null));
    }

    #[test]
    fn fields_for_credentials_are_found() {
        let field = |name: &str, field: Value| {
            let form = json!({"requestedSchema": {"type": "object", "properties": {"city": {"type": "string"}, name: field}}});
            credential_field(&form).map(str::to_owned)
        };
        for (name, one) in [
            ("password", json!({"type": "string"})),
            ("value", json!({"type": "string", "title": "API key"})),
            ("value", json!({"type": "string", "format": "password"})),
            ("otp", json!({"type": "integer"})),
            ("密码", json!({"type": "string"})),
            ("pass_phrase", json!({})),
        ] {
            assert_eq!(field(name, one.clone()).as_deref(), Some(name), "{one}");
        }
        for (name, one) in [
            ("reset_password", json!({"type": "boolean"})),
            ("password", json!({"type": "string", "enum": ["keep", "change"]})),
            (
                "word",
                json!({"type": "string", "title": "Word", "description": "The key of the record, or its token."}),
            ),
            // As a reference server asks. What a sentence says of a secret may be a warning.
            (
                "integer",
                json!({"type": "integer", "description": "Your favorite integer (do not send us your pin)"}),
            ),
            ("max_tokens", json!({"type": "integer", "description": "How many tokens the answer may have."})),
        ] {
            assert_eq!(field(name, one.clone()), None, "{one}");
        }
        assert_eq!(credential_field(&json!({"mode": "url", "url": "https://x"})), None);
    }
}
