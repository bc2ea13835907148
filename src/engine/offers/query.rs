//! Requests about one resource, template or prompt. Only what the protocol allows can be said, so that no server is sent more.

use super::arguments::{PartialArgument, check_texts};
use serde_json::{Map, Value, json};
use toolhub_types::error::HubError;
use toolhub_types::model::OfferKind;

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
