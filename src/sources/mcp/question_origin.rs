//! Questions of a server on their way to a person: each says who asks, and only a server with `trust: full` may ask for
//! credentials. To its caller a served hub is one server, and a caller that trusts the hub does not trust all that it reaches.

use super::wire::clean;
use serde_json::{Value, json};
use toolhub_text::secret::{is_secret_name, speaks_of_secret};

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

/// The parameters of a question as a person sees them: a client may show any of the texts, names of fields included. An answer
/// that repeats a name or a choice that was changed here does not fit the form of the server.
pub fn visible_question(params: Value) -> Value {
    match params {
        Value::String(text) => Value::String(clean(&text, usize::MAX)),
        Value::Array(items) => items.into_iter().map(visible_question).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (clean(&name, usize::MAX), visible_question(value)))
            .collect(),
        other => other,
    }
}

/// The field of a form that looks like a credential, by its own name or by what the question says of it.
pub fn credential_field(params: &Value) -> Option<&str> {
    let form = params.get("requestedSchema")?;
    let of_all = [params.get("message"), form.get("title"), form.get("description")];
    let asks = of_all.into_iter().flatten().filter_map(Value::as_str).any(speaks_of_secret);
    let mut fields = form.get("properties")?.as_object()?.iter().filter(|(_, field)| takes_text(field));
    fields.find(|(name, field)| asks || is_credential(name, field)).map(|(name, _)| &**name)
}

/// A yes or a choice is no credential, whatever it is about.
fn takes_text(field: &Value) -> bool {
    let is_choice = ["enum", "oneOf", "anyOf", "const"].iter().any(|key| field.get(*key).is_some());
    !is_choice && !matches!(field.get("type").and_then(Value::as_str), Some("boolean" | "array"))
}

fn is_credential(name: &str, field: &Value) -> bool {
    let text = |key: &str| field.get(key).and_then(Value::as_str);
    let is_number = matches!(text("type"), Some("integer" | "number"));
    is_secret_name(name)
        || text("title").is_some_and(is_secret_name)
        || text("format") == Some("password")
        || !is_number && text("description").is_some_and(speaks_of_secret)
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
            ("x", json!({"type": "string", "description": "Type your password again."})),
            ("x", json!({"type": "string", "description": "An API key of GitHub"})),
            ("x", json!({"type": "string", "description": "请输入您的密码以继续"})),
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
            // As a reference server asks: a sentence may be a warning, and a number is not a password.
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

    #[test]
    fn the_text_of_a_question_counts_for_all_of_its_fields() {
        let asks = |message: &str, field: Value| {
            let form = json!({"type": "object", "properties": {"x": field}});
            credential_field(&json!({"message": message, "requestedSchema": form})).is_some()
        };
        for message in [
            "Please enter your password and one-time code",
            "Your PIN, please.",
            "We need your API keys",
            "为了继续，请输入密码。",
        ] {
            assert!(asks(message, json!({"type": "string"})), "{message}");
            assert!(!asks(message, json!({"type": "boolean"})), "{message}");
        }
        for message in [
            "Your session has expired. Which city?",
            "Which key has the record?",
            "How many tokens?",
            "Name a private repository",
            "",
        ] {
            assert!(!asks(message, json!({"type": "string"})), "{message}");
        }
        let titled =
            json!({"requestedSchema": {"title": "Password", "properties": {"x": {"type": "string"}}}});
        assert_eq!(credential_field(&titled), Some("x"));
    }

    #[test]
    fn a_question_is_shown_without_what_cannot_be_seen() {
        let asked =
            json!({"message": "\u{202e}\u{1b}[31mhello\u{7}", "n": 1, "a\u{200b}": ["x\u{1b}[0m", null]});
        assert_eq!(visible_question(asked), json!({"message": "hello", "n": 1, "a": ["x", null]}));
    }
}
