//! Requests about one resource, template or prompt. Only what the protocol allows can be said, so that no server is sent more.

use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::OfferKind;
use toolhub_types::tool::Tool;

#[derive(Clone, Debug)]
pub enum OfferQuery {
    /// `resources/read`
    Read { uri: String },
    /// `prompts/get`
    Get { name: String, arguments: Map<String, Value> },
    /// `completion/complete`, of a prompt or of a template.
    Complete { of: OfferKind, key: String, argument: PartialArgument },
}

impl OfferQuery {
    pub fn method(&self) -> &'static str {
        self.form().0
    }

    /// The member that the answer must have.
    pub fn answered_by(&self) -> &'static str {
        self.form().1
    }

    /// Where the key is looked up.
    pub fn kinds(&self) -> &'static [OfferKind] {
        self.form().2
    }

    fn form(&self) -> (&'static str, &'static str, &'static [OfferKind]) {
        const PROMPT: &[OfferKind] = &[OfferKind::Prompts];
        const TEMPLATE: &[OfferKind] = &[OfferKind::ResourceTemplates, OfferKind::Resources];
        match self {
            OfferQuery::Read { .. } => ("resources/read", "contents", OfferKind::READ),
            OfferQuery::Get { .. } => ("prompts/get", "messages", PROMPT),
            OfferQuery::Complete { of, .. } => {
                let kinds = if *of == OfferKind::Prompts { PROMPT } else { TEMPLATE };
                ("completion/complete", "completion", kinds)
            }
        }
    }

    /// The URI or name, as the one who asks knows it.
    pub fn key(&self) -> &str {
        match self {
            OfferQuery::Read { uri: key } | OfferQuery::Get { name: key, .. } => key,
            OfferQuery::Complete { key, .. } => key,
        }
    }

    /// Refuses arguments that are not texts.
    pub fn check(&self) -> Result<(), HubError> {
        match self {
            OfferQuery::Read { .. } => Ok(()),
            OfferQuery::Get { name, arguments } => check_texts(name, arguments),
            OfferQuery::Complete { key, argument, .. } => check_texts(key, &argument.context),
        }
    }

    /// The parameters of the request to a server that knows it by this key.
    pub fn params(&self, key: &str) -> Map<String, Value> {
        let params = match self {
            OfferQuery::Read { .. } => json!({"uri": key}),
            OfferQuery::Get { arguments, .. } => json!({"name": key, "arguments": arguments}),
            OfferQuery::Complete { of, argument, .. } => {
                let reference = match of {
                    OfferKind::Prompts => json!({"type": "ref/prompt", "name": key}),
                    _ => json!({"type": "ref/resource", "uri": key}),
                };
                let partial = json!({"name": argument.name, "value": argument.value});
                match argument.context.is_empty() {
                    true => json!({"ref": reference, "argument": partial}),
                    false => {
                        let context = json!({"arguments": argument.context});
                        json!({"ref": reference, "argument": partial, "context": context})
                    }
                }
            }
        };
        match params {
            Value::Object(params) => params,
            _ => Map::new(),
        }
    }
}

/// The error for something that was asked for in a wrong way.
pub fn refused(text: Message) -> HubError {
    HubError::new(ErrorKind::InvalidArguments, text).with_outcome(Outcome::NotSent)
}

/// The text that a user has begun for an argument.
#[derive(Clone, Debug)]
pub struct PartialArgument {
    pub name: String,
    pub value: String,
    /// The arguments that are complete already.
    pub context: Map<String, Value>,
}

/// The arguments of a function that completes, by the order of its parameters.
pub fn completing(function: &Arc<dyn Tool>, request: &PartialArgument) -> Map<String, Value> {
    let names = function.spec().parameters.get("properties").and_then(Value::as_object);
    let given = [json!(request.value), Value::Object(request.context.clone())];
    names.into_iter().flat_map(Map::keys).cloned().zip(given).collect()
}

/// Refuses arguments that are not texts.
pub fn check_texts(name: &str, arguments: &Map<String, Value>) -> Result<(), HubError> {
    match arguments.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(()),
        Some((key, _)) => {
            Err(refused(message!("The argument '{}' of '{}' must be a text.", clip(key), clip(name))))
        }
    }
}

/// Refuses arguments without those that the entry of a prompt requires.
pub fn check_required(name: &str, prompt: &Value, arguments: &Map<String, Value>) -> Result<(), HubError> {
    let declared = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let required = declared.filter(|one| one.get("required").and_then(Value::as_bool) == Some(true));
    let mut names = required.filter_map(|one| one.get("name")?.as_str());
    match names.find(|required| !arguments.contains_key(*required)) {
        None => Ok(()),
        Some(missing) => {
            Err(refused(message!("The prompt '{}' needs the argument '{}'.", clip(name), clip(missing))))
        }
    }
}

/// The arguments of a prompt from the JSON Schema of its function.
pub fn from_schema(schema: &Value) -> Vec<Value> {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let argument = |(name, property): (&String, &Value)| {
        let mut argument = Map::from_iter([("name".to_owned(), json!(name))]);
        let description = property.get("description").filter(|text| text.is_string());
        argument.extend(description.map(|text| ("description".to_owned(), text.clone())));
        argument.insert("required".to_owned(), json!(required(name)));
        Value::Object(argument)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(argument).collect()
}

#[cfg(test)]
mod arguments_tests {
    use super::*;

    #[test]
    fn arguments_come_from_the_schema_and_are_required_texts() {
        let schema = json!({
            "type": "object",
            "properties": {"code": {"type": "string", "description": "What to review."}, "depth": {"type": "integer"}},
            "required": ["code"],
        });
        let prompt = json!({"name": "review", "arguments": from_schema(&schema)});
        assert_eq!(
            prompt["arguments"],
            json!([
                {"name": "code", "description": "What to review.", "required": true},
                {"name": "depth", "required": false},
            ])
        );
        let given = |value: Value| value.as_object().cloned().unwrap();
        assert!(check_required("review", &prompt, &given(json!({"code": "x"}))).is_ok());
        let missing = check_required("review", &prompt, &given(json!({"depth": "2"}))).unwrap_err();
        assert_eq!(missing.message, "The prompt 'review' needs the argument 'code'.");
        assert!(check_texts("review", &given(json!({"code": 1}))).is_err());
    }
}
