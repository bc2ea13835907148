//! Questions of a server: input that it requests in the middle of a request, on its way to a person, and the answers.
//!
//! Each question says who asks, and only a server with `trust: full` may ask for credentials. To its caller a served hub is one
//! server, and a caller that trusts the hub does not trust all that it reaches.

use super::callbacks::MOST_QUESTIONS;
use super::convert;
use super::inbox::Asked;
use super::message::Params;
use super::server::Server;
use super::wire::{clean, with_texts};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_protocol::Era;
use toolhub_registry::schema::Schema;
use toolhub_text::message;
use toolhub_text::secret::{is_secret_name, speaks_of_secret};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::tool::{AskCaller, QuestionAnswer, RoundQuestion, ServerRound};

/// What a server asks, and the state that it wants back with the answers.
pub type InputRequests = (Map<String, Value>, Option<String>);

/// Takes what is asked out of an answer.
pub fn requested(answer: &mut Map<String, Value>) -> InputRequests {
    let requests = answer.remove("inputRequests").and_then(|requests| requests.as_object().cloned());
    let state = answer.remove("requestState").and_then(|state| state.as_str().map(str::to_owned));
    (requests.unwrap_or_default(), state)
}

/// The parameters of the request once more, with the answers and the state.
pub fn with_answers(mut params: Params, (answers, state): InputRequests) -> Params {
    if !answers.is_empty() {
        params = params.with("inputResponses", &answers);
    }
    state.iter().fold(params, |params, state| params.with("requestState", state))
}

/// Answers the requests of a server for input, and gives back its state with them. What is for the caller is asked at once, so
/// that it is asked once.
pub async fn gather(
    server: &Server,
    tool: &str,
    (requests, state): InputRequests,
    ask: Option<&AskCaller>,
) -> Result<InputRequests> {
    let callbacks = server.callbacks();
    let elsewhere = state.clone().map(|state| {
        let server = server.id().clone();
        ServerRound { server, requests: requests.clone(), state }
    });
    let keys: Vec<String> = requests.keys().cloned().collect();
    let mut responses = Map::new();
    let (mut elicitations, mut round) = (0, Vec::new());
    for (key, request) in requests {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        if method == "elicitation/create" {
            elicitations += 1;
            if elicitations > MOST_QUESTIONS {
                responses.insert(key, json!({"action": "decline"}));
                continue;
            }
        }
        let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
        if ask.is_some() && callbacks.is_for_caller(&method) {
            round.push(RoundQuestion { key, method, params });
            continue;
        }
        let answer = callbacks.answer(&method, params, Asked::Owner).await;
        responses.insert(key, given(server, tool, &method, answer)?);
    }
    if let Some(ask) = ask.filter(|_| !round.is_empty()) {
        let answers = callbacks.ask_caller(ask, round.clone(), elsewhere).await;
        for (question, answer) in round.into_iter().zip(answers) {
            responses.insert(question.key, given(server, tool, &question.method, answer)?);
        }
    }
    // In the order of the requests.
    Ok((keys.into_iter().filter_map(|key| responses.remove_entry(&key)).collect(), state))
}

/// The questions with which a request goes on that was begun elsewhere. It is never sent without the server's own state: to a
/// server that does not know of states it would be a new request.
pub fn resumed(server: &Server, era: Era, begun: &ServerRound) -> Result<InputRequests> {
    if era == Era::Modern && begun.server == *server.id() {
        return Ok((begun.requests.clone(), Some(begun.state.clone())));
    }
    let text = message!(
        "The request was begun on server '{}', which cannot continue it here; send it again without 'requestState'.",
        begun.server
    );
    Err(HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::Unknown))
}

fn given(server: &Server, tool: &str, method: &str, answer: QuestionAnswer) -> Result<Value> {
    answer.map_err(|(_, why)| {
        let text = message!(
            "Tool '{}' on server '{}' needs input that this hub cannot give ({}: {}).",
            clip(tool),
            server.id(),
            clean(method, 60),
            why,
        );
        HubError::new(ErrorKind::NotAllowed, text)
    })
}

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
    with_texts(params, &|text| clean(&text, usize::MAX))
}

/// The field of a form that looks like a credential, by its own name or by what the question says of it.
pub fn credential_field(params: &Value) -> Option<&str> {
    let form = params.get("requestedSchema")?;
    let of_all = [params.get("message"), form.get("title"), form.get("description")];
    let asks = of_all.into_iter().flatten().filter_map(Value::as_str).any(speaks_of_secret);
    let mut fields = form.get("properties")?.as_object()?.iter().filter(|(_, field)| takes_text(field));
    fields.find(|(name, field)| asks || is_credential(name, field)).map(|(name, _)| &**name)
}

/// A yes or a choice is not a credential, whatever it is about.
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

/// The form that a question asks a person to fill in; `Null` for an elicitation without one.
pub fn form_of(question: &RoundQuestion) -> Option<Value> {
    let is_elicitation = question.method == "elicitation/create";
    is_elicitation.then(|| question.params.get("requestedSchema").cloned().unwrap_or_default())
}

/// The answer, with the defaults of the form, if it is one and fits the form; otherwise what is wrong with it.
pub async fn fitting_form(answer: Value, form: Option<Value>) -> Result<Value, String> {
    let action = answer.get("action").and_then(Value::as_str);
    let mut fitting = match action {
        // What a person typed before declining stays here.
        Some("decline" | "cancel") => json!({"action": action}),
        Some("accept") => {
            let mut content = answer.get("content").cloned();
            if content.as_ref().is_some_and(|content| !content.is_object()) {
                return Err("'content' must be a mapping".to_owned());
            }
            if let Some(form) = form.filter(Value::is_object) {
                let filled = with_defaults(content.unwrap_or_else(|| json!({})), &form);
                let form = Arc::new(Schema::new(Arc::new(form)));
                let (fitting, violations) = convert::violations(&form, filled).await;
                if let Some(why) = violations {
                    return Err(why.into_owned());
                }
                content = Some(fitting);
            }
            let members = [("action", Some(json!("accept"))), ("content", content)];
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        }
        _ => return Err("'action' must be 'accept', 'decline' or 'cancel'".to_owned()),
    };
    // It is between the client and the server.
    if let Some(meta) = answer.get("_meta").filter(|meta| meta.is_object()) {
        fitting["_meta"] = meta.clone();
    }
    Ok(fitting)
}

/// Fields that the user accepted without filling them in get the defaults of the form.
fn with_defaults(mut content: Value, form: &Value) -> Value {
    for (name, field) in form.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = field.get("default")
            && content.get(name).is_none()
        {
            content[name] = default.clone();
        }
    }
    content
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
