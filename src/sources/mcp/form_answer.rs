//! The answer of a person to a form (MCP elicitation).

use super::result_check;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_registry::schema::ResultSchema;
use toolhub_types::tool::RoundQuestion;

/// The form that a question asks a person to fill in; `Null` for an elicitation without one.
pub fn form_of(question: &RoundQuestion) -> Option<Value> {
    let is_elicitation = question.method == "elicitation/create";
    is_elicitation.then(|| question.params.get("requestedSchema").cloned().unwrap_or_default())
}

/// The answer, with the defaults of the form, if it is one and fits the form; otherwise what is wrong with it.
pub async fn fitting_form(answer: Value, form: Option<Value>) -> Result<Value, String> {
    let mut answer = with_defaults(answer, form.as_ref());
    // It is between the client and the server.
    let meta = answer.get_mut("_meta").map(Value::take).filter(Value::is_object);
    let mut fitting = fitting_content(answer, form).await?;
    if let Some(meta) = meta {
        fitting["_meta"] = meta;
    }
    Ok(fitting)
}

async fn fitting_content(answer: Value, form: Option<Value>) -> Result<Value, String> {
    match answer.get("action").and_then(Value::as_str) {
        // What a person typed before declining stays here.
        Some(action @ ("decline" | "cancel")) => Ok(json!({"action": action})),
        Some("accept") => {
            let content = answer.get("content").cloned();
            let Some(form) = form.filter(Value::is_object) else {
                return match content {
                    None => Ok(json!({"action": "accept"})),
                    Some(content) if content.is_object() => {
                        Ok(json!({"action": "accept", "content": content}))
                    }
                    Some(_) => Err("'content' must be a mapping".to_owned()),
                };
            };
            let content = content.unwrap_or_else(|| json!({}));
            if !content.is_object() {
                return Err("'content' must be a mapping".to_owned());
            }
            let form = Arc::new(ResultSchema::new(Arc::new(form)));
            let (content, violations) = result_check::violations(&form, content).await;
            violations.map_or_else(|| Ok(json!({"action": "accept", "content": content})), Err)
        }
        _ => Err("'action' must be 'accept', 'decline' or 'cancel'".to_owned()),
    }
}

/// Fields that the user accepted without filling them in get the defaults of the form.
fn with_defaults(mut answer: Value, schema: Option<&Value>) -> Value {
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    if let (Some("accept"), Some(fields)) = (answer.get("action").and_then(Value::as_str), fields)
        && answer.get("content").is_none_or(Value::is_object)
    {
        for (name, field) in fields {
            if let Some(default) = field.get("default")
                && answer["content"].get(name).is_none()
            {
                answer["content"][name] = default.clone();
            }
        }
    }
    answer
}
